// The sentences of the server's pages (i18n.ts has the viewer's): English, Japanese, Chinese.
export const WORDS = {
  procProfiles: ["proc profiles", "proc profiles", "proc profiles"],
} satisfies Record<string, [string, string, string]>;
