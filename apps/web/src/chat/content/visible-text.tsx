import './visible-text.css';

interface VisibleTextProps {
  readonly text: string;
  readonly escapes?: EscapeScope;
}

/** A text of somebody who is not trusted, in which nothing hides: all that could is escapes. */
export function VisibleText({ text, escapes = 'all' }: VisibleTextProps) {
  return textRuns(text, escapes).map((run, at) =>
    run.shown === undefined ? (
      run.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: a run is known by its place
      <span key={at} className="escape" data-lines={run.text.includes('\n') || undefined}>
        {run.shown}
      </span>
    ),
  );
}

interface TextRun {
  readonly text: string;
  /** What is shown instead, because the text itself would not be seen for what it is. */
  readonly shown?: string;
}

/**
 * What has no look of its own, or changes that of others: controls, directions, joiners, tags, selectors, and
 * longBlanks that are no spaces. Line breaks, tabs and the wide space of Chinese are seen as they are.
 */
const invisible =
  /(?![\n\t \u3000]|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800]|(?<![\p{Extended_Pictographic}\d#*])\ufe0f/u;

const allInvisible = new RegExp(invisible, 'gu');

/** So many longBlanks, or lines with nothing in them, push what follows out of sight. */
const longBlanks = /[ \t]{40,}/u;
const emptyLines = /(?<=\n)(?:[ \t]*\n){3,}/u;
const suspicious = new RegExp(
  `(?<one>${invisible.source})\\k<one>*|(?<longBlanks>${longBlanks.source})|(?<lines>${emptyLines.source})`,
  'gu',
);

/** What directionMarks the direction of all that follows, and is put there for nothing else. */
const directionMarks = /(?<one>[\u202a-\u202e\u2066-\u2069])\k<one>*/gu;

/** `directions`: what is only read may have suspicious longBlanks, but has to be read as it was written. */
type EscapeScope = 'all' | 'directions';

/** A text cut into what can be shown as it is, and what has to be escapes. */
export function textRuns(text: string, escapes: EscapeScope = 'all'): readonly TextRun[] {
  const runs: TextRun[] = [];
  let through = 0;
  for (const match of text.matchAll(escapes === 'all' ? suspicious : directionMarks)) {
    if (match.index > through) runs.push({ text: text.slice(through, match.index) });
    runs.push({ text: match[0], shown: labelFor(match[0], match.groups ?? {}) });
    through = match.index + match[0].length;
  }
  if (through < text.length) runs.push({ text: text.slice(through) });
  return runs;
}

/** The same text in one line of JSON's escapes where it could not be seen. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(allInvisible, (one) => one.split('').map(unitOf).join(''));
}

type Groups = Readonly<Record<string, string | undefined>>;

function labelFor(text: string, { one, longBlanks: isBlanks }: Groups): string {
  if (isBlanks !== undefined) return `${text.length.toLocaleString('en')} blanks`;
  if (one === undefined) return `${(text.split('\n').length - 1).toLocaleString('en')} empty lines`;
  const times = text.length / one.length;
  return times === 1 ? escapeOf(one) : `${escapeOf(one)} ×${times.toLocaleString('en')}`;
}

function escapeOf(one: string): string {
  if (one === '\r') return '\\r';
  const code = one.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${hexCode(code)}}` : unitOf(one);
}

const hexCode = (code: number) => code.toString(16).toUpperCase().padStart(4, '0');
const unitOf = (unit: string) => `\\u${hexCode(unit.charCodeAt(0))}`;
