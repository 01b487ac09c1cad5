# packaging/generate feeds: "=== main" and the program's help, "=== COMMAND" and its help for each, "=== template" and the template.
function is_foreign(c) { return c == "pprof" || c == "jeprof" || c == "addr2line" }
function roff(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); if (s ~ /^[.']/) s = "\\&" s; return s }
function zsh(s) { gsub(/'/, "'\\''", s); gsub(/\[/, "\\[", s); gsub(/\]/, "\\]", s); gsub(/:/, "\\:", s); return s }

/^=== / { section = $2; next }

section == "main" && /^procprof [0-9]/ { version = $2; sub(/:$/, "", version); next }
section == "main" && /^[a-z].*:$/ { group = $0; sub(/:$/, "", group); next }
section == "main" && /^  [a-z0-9]+ +[^ ]/ {
    name = $1; line = $0; sub(/^  [a-z0-9]+ +/, "", line)
    names[++n_names] = name; summary[name] = line; group_of[name] = group
    next
}
section == "main" { next }

section == "settings" { settings[++n_settings] = $0; next }

section == "template" {
    if ($0 ~ /^@[A-Z_0-9]+@$/) list($0)
    else { gsub(/@VERSION@/, version); print }
    next
}

# Tools that we stand in for: whatever begins with a dash at the begin of a word.
is_foreign(section) {
    line = " " $0
    while (match(line, /[ ,]--?[A-Za-z][A-Za-z0-9_-]*/)) {
        word = substr(line, RSTART + 1, RLENGTH - 1)
        if (!((section, word) in seen)) { seen[section, word] = 1; words[section] = words[section] " " word }
        line = substr(line, RSTART + RLENGTH)
    }
    next
}

# "  -s, --long ARG    help"
/^  (-[A-Za-z], |    )--[a-z]/ {
    short = ""; line = $0
    if (match(line, /^  -[A-Za-z]/)) short = substr(line, 3, 2)
    sub(/^ *(-[A-Za-z], )?/, "", line)
    at = match(line, /  +/)
    left = at ? substr(line, 1, at - 1) : line
    i = ++n_options[section]
    help[section, i] = at ? substr(line, at + RLENGTH) : ""
    n = index(left, " ")
    long_of[section, i] = n ? substr(left, 1, n - 1) : left
    argument[section, i] = n ? substr(left, n + 1) : ""
    short_of[section, i] = short
    both = (short == "" ? "" : short " ") long_of[section, i]
    words[section] = words[section] " " both
    if (n) with_value[section] = with_value[section] " " both
    all_options[section] = all_options[section] "\n" $0
}

function list(what,    i, k, c, first, line, shown, f) {
    if (what == "@NAMES@") for (i = 1; i <= n_names; i++) print names[i]
    if (what == "@BASH_OPTIONS@") for (i = 1; i <= n_names; i++) printf "    %s) words='%s' ;;\n", names[i], substr(words[names[i]], 2)
    if (what == "@BASH_WITH_VALUE@")
        for (i = 1; i <= n_names; i++) if (with_value[names[i]]) printf "    %s) with_value='%s' ;;\n", names[i], substr(with_value[names[i]], 2)
    if (what == "@ZSH_COMMANDS@") for (i = 1; i <= n_names; i++) printf "        '%s:%s'\n", names[i], zsh(summary[names[i]])
    if (what == "@ZSH_OPTIONS@")
        for (i = 1; i <= n_names; i++) {
            c = names[i]
            printf "        %s)\n            _arguments -S \\\n", c
            if (is_foreign(c)) {
                k = split(words[c], f, " ")
                for (n = 1; n <= k; n++) printf "                '%s' \\\n", f[n]
            }
            for (k = 1; k <= n_options[c]; k++) {
                line = argument[c, k]; gsub(/[':\[\]]/, " ", line)
                line = "[" zsh(help[c, k]) "]" (line == "" ? "" : ":" line ":_files")
                if (short_of[c, k] != "") printf "                '%s%s' \\\n", short_of[c, k], line
                printf "                '%s%s' \\\n", long_of[c, k], line
            }
            print "                '*:file:_files'\n            ;;"
        }
    if (what == "@MAN_COMMANDS@")
        for (i = 1; i <= n_names; i++) {
            if (i == 1 || group_of[names[i]] != group_of[names[i - 1]]) print ".SS " roff(group_of[names[i]])
            printf ".TP\n.B %s\n%s\n", names[i], roff(summary[names[i]])
        }
    if (what == "@MAN_OPTIONS@") # commands with the same options together
        for (i = 1; i <= n_names; i++) {
            c = names[i]
            if (!n_options[c] || shown[c]) continue
            line = c
            for (k = i + 1; k <= n_names; k++)
                if (all_options[names[k]] == all_options[c]) { line = line ", " names[k]; shown[names[k]] = 1 }
            print ".SS procprof " line
            for (k = 1; k <= n_options[c]; k++)
                printf ".TP\n%s\\fB%s\\fR%s\n%s\n", short_of[c, k] == "" ? "" : "\\fB" roff(short_of[c, k]) "\\fR, ", roff(long_of[c, k]),
                    argument[c, k] == "" ? "" : " \\fI" roff(argument[c, k]) "\\fR", roff(help[c, k])
        }
    if (what == "@MAN_SETTINGS@") # key, preset, files, "live" or "", comment; between tabs
        for (i = 1; i <= n_settings; i++) {
            split(settings[i], f, "\t")
            printf ".TP\n\\fB%s\\fR (%s%s%s)\n%s\n", roff(f[1]), roff(f[3]), f[2] == "" ? "" : "; default " roff(f[2]),
                f[4] == "live" ? "; can be changed while the server runs" : "", roff(f[5])
        }
}
