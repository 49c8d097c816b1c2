/** One setting of a git configuration file. The section and the key are in lower case. */
export interface GitSetting {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/** Maximum number of settings to read from one file. */
const maxSettings = 20_000;

/**
 * Returns the settings in the text of a git configuration file. It reads comments, quotes, escapes and
 * continued lines in the same way as git. It omits subsections, and skips lines that git would refuse.
 */
export function readGitSettings(text: string): readonly GitSetting[] {
  const settings: GitSetting[] = [];
  let rest = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  let section = '';
  while (rest !== '' && settings.length < maxSettings) {
    const header = /^\s*\[\s*([\w.-]+)\s*(?:"(?:\\.|[^"\\\n])*"\s*)?\]/.exec(rest);
    const name = /^\s*([a-z][\w-]*)[ \t]*(=?)/i.exec(rest);
    if (header !== null) {
      section = (header[1] ?? '').toLowerCase().replace(/\..*/s, '');
      rest = rest.slice(header[0].length);
    } else if (name !== null && name[2] === '=') {
      const { value, length } = readValue(rest.slice(name[0].length));
      settings.push({ section, key: (name[1] ?? '').toLowerCase(), value });
      rest = rest.slice(name[0].length + length);
    } else {
      // The line is a comment, an empty line, a key without a value, or an error.
      rest = rest.replace(/^\s*[^\n]*(?:\n|$)/, '');
    }
  }
  return settings;
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['b', '\b'],
]);

/** Reads a value up to the end of its last line. */
function readValue(text: string): { readonly value: string; readonly length: number } {
  let value = '';
  // Spaces become part of the value only if other characters follow them.
  let spaces = '';
  let isQuoted = false;
  let isComment = false;
  let at = 0;
  for (; at < text.length && text[at] !== '\n'; at++) {
    const char = text.charAt(at);
    if (isComment) continue;
    if (char === '"') {
      isQuoted = !isQuoted;
      value += spaces;
      spaces = '';
    } else if (!isQuoted && (char === '#' || char === ';')) isComment = true;
    else if (!isQuoted && /\s/.test(char)) spaces += value === '' ? '' : char;
    else {
      const next = char === '\\' ? text.charAt(++at) : undefined;
      if (next === '\n') continue;
      value += spaces + (next === undefined ? char : (escapes.get(next) ?? next));
      spaces = '';
    }
  }
  return { value, length: at };
}
