/* The behaviour of procprof's flame-graph SVG. Frames are <g class="f"> with a <title> and a <rect>;
 * positions are in units of the picture. */
"use strict";
(function() {
var svg = document.documentElement, frames, details, matchedText, resetButton, searchButton,
    ignoreCase = true;
var width = 1200, pad = 10, charPx = 7, zoomed = null, expression = "";

function attr(e, n)
{
    return parseFloat(e.getAttribute(n));
}
function nameOf(f)
{
    return f.n;
}

function load()
{
    width = parseFloat(svg.getAttribute("data-width"));
    charPx = parseFloat(svg.getAttribute("data-char"));
    details = document.getElementById("details");
    matchedText = document.getElementById("matched");
    resetButton = document.getElementById("unzoom");
    searchButton = document.getElementById("search");
    frames = Array.prototype.map.call(document.getElementsByClassName("f"), function(g) {
        var r = g.querySelector("rect"), t = g.querySelector("title").textContent, i = t.lastIndexOf(" (");
        return {
            g : g,
            r : r,
            t : g.querySelector("text"),
            title : t,
            n : i > 0 ? t.slice(0, i) : t,
            x : attr(r, "x"),
            w : attr(r, "width"),
            d : +g.getAttribute("data-d"),
            fill : r.getAttribute("fill")
        };
    });
    frames.forEach(function(f, i) {
        f.g.setAttribute("tabindex", "0");
        f.i = i;
        f.g.__f = f;
    });
    svg.addEventListener("click", function(e) {
        var g = e.target.closest && e.target.closest("g.f");
        if (g) {
            zoom(g.__f);
            return;
        }
        if (e.target.id === "unzoom") zoom(null);
        if (e.target.id === "search") {
            if (expression)
                search("");
            else
                ask();
        }
        if (e.target.id === "ic") {
            ignoreCase = !ignoreCase;
            e.target.classList.toggle("on");
            search(expression);
        }
    });
    svg.addEventListener("mouseover", function(e) {
        var g = e.target.closest && e.target.closest("g.f");
        if (g) show(g.__f);
    });
    svg.addEventListener("mouseout", function() { details.textContent = " "; });
    svg.addEventListener("focusin", function(e) {
        var g = e.target.closest && e.target.closest("g.f");
        if (g) show(g.__f);
    });
    window.addEventListener("keydown", keys);
    window.addEventListener("hashchange", readState);
    readState();
}

function show(f)
{
    details.textContent = f.title;
}

function keys(e)
{
    var g = document.activeElement && document.activeElement.__f;
    if ((e.ctrlKey || e.metaKey) && e.key === "f" || e.key === "/" || e.key === "F3") {
        e.preventDefault();
        ask();
    } else if (e.key === "Escape" || e.key === "0") {
        if (expression)
            search("");
        else
            zoom(null);
    } else if (e.ctrlKey && e.key === "i") {
        ignoreCase = !ignoreCase;
        search(expression);
    } else if (e.key === "Enter" && g)
        zoom(g);
    else if (g && (e.key === "ArrowLeft" || e.key === "ArrowRight" || e.key === "ArrowUp" ||
                   e.key === "ArrowDown")) {
        e.preventDefault();
        move(g, e.key);
    }
}

/* To the caller, the widest callee, or a neighbour of the same depth. */
function move(f, key)
{
    var up = (key === "ArrowUp") === (svg.getAttribute("data-icicle") === "0"), best = null, i;
    for (i = 0; i < frames.length; i++) {
        var o = frames[i];
        if (key === "ArrowLeft" || key === "ArrowRight") {
            if (o.d !== f.d || o === f) continue;
            var before = o.x < f.x;
            if (before === (key === "ArrowLeft") && (!best || Math.abs(o.x - f.x) < Math.abs(best.x - f.x)))
                best = o;
        } else if (up) {
            if (o.d === f.d + 1 && o.x >= f.x - 0.01 && o.x + o.w <= f.x + f.w + 0.01 &&
                (!best || o.w > best.w))
                best = o;
        } else if (o.d === f.d - 1 && o.x <= f.x + 0.01 && o.x + o.w >= f.x + f.w - 0.01)
            best = o;
    }
    if (best) {
        best.g.focus();
        show(best);
    }
}

function label(f, w)
{
    if (!f.t) {
        if (w < 3 * charPx) return;
        f.t = document.createElementNS("http://www.w3.org/2000/svg", "text");
        f.t.setAttribute("y", attr(f.r, "y") + attr(f.r, "height") - 4.5);
        f.g.appendChild(f.t);
    }
    var room = Math.floor((w - 6) / charPx);
    f.t.textContent = room < 3 ? "" : f.n.length <= room ? f.n : f.n.slice(0, room - 2) + "..";
}

/* The frame fills the width; its callers stay, faded, as wide as the picture; everything beside it goes. */
function zoom(target)
{
    zoomed = target && target.d > 0 ? target : null;
    var x0 = zoomed ? zoomed.x : pad, w0 = zoomed ? zoomed.w : width - 2 * pad,
        scale = (width - 2 * pad) / w0;
    frames.forEach(function(f) {
        var inside = !zoomed || (f.d >= zoomed.d && f.x >= x0 - 0.001 && f.x + f.w <= x0 + w0 + 0.001);
        var above = zoomed && f.d < zoomed.d && f.x <= x0 + 0.001 && f.x + f.w >= x0 + w0 - 0.001;
        f.g.style.display = inside || above ? "" : "none";
        f.g.style.opacity = above ? 0.5 : "";
        if (!inside && !above) return;
        var x = above ? pad : pad + (f.x - x0) * scale, w = above ? width - 2 * pad : f.w * scale;
        if (!above && w < 0.1) {
            f.g.style.display = "none";
            return;
        }
        f.r.setAttribute("x", x.toFixed(1));
        f.r.setAttribute("width", w.toFixed(1));
        label(f, w);
        if (f.t) f.t.setAttribute("x", (x + 3).toFixed(1));
    });
    resetButton.style.opacity = zoomed ? 1 : 0.2;
    writeState();
}

function ask()
{
    var text = window.prompt("Search for a name (regular expression):", expression);
    if (text !== null) search(text);
}

/* Marks what matches; the percentage counts a stack once, however many of its frames match. */
function search(text)
{
    var re = null, spans = [], total = 0, root = frames[0];
    expression = text || "";
    if (expression) {
        try {
            re = new RegExp(expression, ignoreCase ? "i" : "");
        } catch (e) {
            matchedText.textContent = "not a regular expression: " + e.message;
            return;
        }
    }
    frames.forEach(function(f) {
        var hit = re && f.d > 0 && re.test(f.n);
        f.r.setAttribute("fill", hit ? "rgb(230,0,230)" : f.fill);
        f.g.classList.toggle("hit", !!hit);
        if (hit) spans.push([ f.x, f.x + f.w ]);
    });
    spans.sort(function(a, b) { return a[0] - b[0]; });
    var end = -1;
    spans.forEach(function(s) {
        if (s[1] > end) {
            total += s[1] - Math.max(s[0], end);
            end = s[1];
        }
    });
    matchedText.textContent = re ? "Matched: " + (100 * total / root.w).toFixed(1) + "%" : " ";
    searchButton.textContent = re ? "Reset Search" : "Search";
    writeState();
}

function writeState()
{
    var parts = [];
    if (zoomed) parts.push("z=" + zoomed.x.toFixed(1) + "," + zoomed.d);
    if (expression) parts.push("s=" + encodeURIComponent(expression));
    try {
        history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.href.split("#")[0]);
    } catch (e) { /* a file opened from disk may refuse */
    }
}

function readState()
{
    var wanted = null, text = "";
    location.hash.slice(1).split("&").forEach(function(p) {
        var v = p.slice(2).split(",");
        if (p.indexOf("z=") === 0)
            frames.forEach(function(f) {
                if (f.d === +v[1] && Math.abs(f.x - v[0]) < 0.06) wanted = f;
            });
        if (p.indexOf("s=") === 0) text = decodeURIComponent(p.slice(2));
    });
    zoom(wanted);
    search(text);
}

if (document.readyState === "complete")
    load();
else
    window.addEventListener("load", load);
})();
