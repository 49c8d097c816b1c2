// Search workers import this file, so it must not import the agent package.

/** True if a text has only ASCII characters. Such a text has no spelling that differs in more than its letter case. */
export function isAscii(text: string): boolean {
  // A search calls this function for each name, and a loop is faster than a regular expression.
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/**
 * Returns a name or a path in a form that is equal for all spellings that a file system can treat as the same name.
 * The file systems of macOS and Windows, and shared folders of these systems in Linux, ignore the letter case. Some
 * also treat `ß` as `ss`, `ſ` as `s`, `ﬁ` as `fi`, and an accent as a part of its letter, and ignore invisible
 * characters.
 *
 * @example foldName('STRAẞE'); // 'strasse'
 */
export function foldName(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return (
    text
      .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
      .normalize('NFD')
      // Some letters have several forms in lower case, and only the lower case of `ẞ` has the upper case `SS`.
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
      // The lower case of a sigma depends on the letters beside it.
      .replaceAll('ς', 'σ')
      .normalize('NFD')
      .normalize('NFC')
  );
}
