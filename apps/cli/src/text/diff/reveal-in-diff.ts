import { expandTabs } from '../cells/printable.ts';
import { revealInContent } from '../cells/reveal-hidden.ts';

/**
 * Makes hidden content of a unified diff visible, so that a user who approves the change sees all of it. Invisible
 * characters become their code. White space at the end of an added or removed line becomes visible. If an added and a
 * removed line differ only in white space, their tabs become visible too.
 *
 * @example revealInDiff('-a\n+a '); // '-a\n+a·'
 */
export function revealInDiff(diff: string): string {
  const lines = diff.split('\n');
  const looks = lines.map((line) => (/^[+-]/.test(line) ? lookOf(line) : undefined));
  const [removed, added] = ['-', '+'].map(
    (sign) => new Set(looks.filter((_, index) => lines[index]?.startsWith(sign))),
  );
  const shown = lines.map((line, index) => {
    const look = looks[index];
    if (look === undefined) return line;
    const isTwin = removed?.has(look) === true && added?.has(look) === true;
    const text = line.trimEnd();
    const kept = isTwin ? text.replaceAll('\t', '⇥') : text;
    return kept + [...line.slice(text.length)].map(visibleSpace).join('');
  });
  return revealInContent(shown.join('\n'));
}

/** Returns what a user sees of a changed line, without its sign and its white space at the end. */
function lookOf(line: string): string {
  return expandTabs(line.slice(1)).trimEnd();
}

/** Returns the visible form of white space. Carriage returns and similar characters become visible when they are drawn. */
function visibleSpace(char: string): string {
  if (char === ' ') return '·';
  if (char === '\t') return '⇥';
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return code.length === 4 && char > ' ' ? `‹U+${code}›` : char;
}
