import './visible-text.css';

interface VisibleTextProps {
  readonly text: string;
  readonly told?: Told;
}

/** A text of somebody who is not trusted, in which nothing hides: all that could is told. */
export function VisibleText({ text, told = 'all' }: VisibleTextProps) {
  return textRuns(text, told).map((run, at) =>
    run.shown === undefined ? (
      run.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: a run is known by its place
      <span key={at} className="told" data-lines={run.text.includes('\n') || undefined}>
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
 * blanks that are no spaces. Line breaks, tabs and the wide space of Chinese are seen as they are.
 */
const unseen =
  /(?![\n\t \u3000]|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800]|(?<![\p{Extended_Pictographic}\d#*])\ufe0f/u;

const everyUnseen = new RegExp(unseen, 'gu');

/** So many blanks, or lines with nothing in them, push what follows out of sight. */
const blanks = /[ \t]{40,}/u;
const emptyLines = /(?<=\n)(?:[ \t]*\n){3,}/u;
const odd = new RegExp(
  `(?<one>${unseen.source})\\k<one>*|(?<blanks>${blanks.source})|(?<lines>${emptyLines.source})`,
  'gu',
);

/** What turns the direction of all that follows, and is put there for nothing else. */
const turns = /(?<one>[\u202a-\u202e\u2066-\u2069])\k<one>*/gu;

/** `directions`: what is only read may have odd blanks, but has to be read as it was written. */
type Told = 'all' | 'directions';

/** A text cut into what can be shown as it is, and what has to be told. */
export function textRuns(text: string, told: Told = 'all'): readonly TextRun[] {
  const runs: TextRun[] = [];
  let through = 0;
  for (const found of text.matchAll(told === 'all' ? odd : turns)) {
    if (found.index > through) runs.push({ text: text.slice(through, found.index) });
    runs.push({ text: found[0], shown: wordsFor(found[0], found.groups ?? {}) });
    through = found.index + found[0].length;
  }
  if (through < text.length) runs.push({ text: text.slice(through) });
  return runs;
}

/** The same text in one line of JSON's escapes where it could not be seen. */
export function escaped(text: string): string {
  return text.replaceAll(everyUnseen, (one) => one.split('').map(unitOf).join(''));
}

type Groups = Readonly<Record<string, string | undefined>>;

function wordsFor(text: string, { one, blanks: isBlanks }: Groups): string {
  if (isBlanks !== undefined) return `${text.length.toLocaleString('en')} blanks`;
  if (one === undefined) return `${(text.split('\n').length - 1).toLocaleString('en')} empty lines`;
  const times = text.length / one.length;
  return times === 1 ? escapeOf(one) : `${escapeOf(one)} ×${times.toLocaleString('en')}`;
}

function escapeOf(one: string): string {
  if (one === '\r') return '\\r';
  const code = one.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${hex(code)}}` : unitOf(one);
}

const hex = (code: number) => code.toString(16).toUpperCase().padStart(4, '0');
const unitOf = (unit: string) => `\\u${hex(unit.charCodeAt(0))}`;
