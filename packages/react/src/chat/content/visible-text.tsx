import './visible-text.css';

interface VisibleTextProps {
  readonly text: string;
  readonly escapes?: EscapeScope;
}

/** Shows untrusted text. Invisible and misleading characters are replaced by visible escapes. */
export function VisibleText({ text, escapes = 'all' }: VisibleTextProps) {
  return shownRuns(textRuns(text, escapes));
}

function shownRuns(runs: readonly TextRun[]) {
  return runs.map((run, at) =>
    run.escape === undefined ? (
      run.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: runs have no other identity
      <span key={at} className="escape" data-lines={run.text.includes('\n') || undefined}>
        {run.escape}
      </span>
    ),
  );
}

/**
 * Shows untrusted text that the user must read before an answer. If it has several lines, each of them has a number
 * beside it, so a line break in the text looks different from a break at the end of the window.
 */
export function VisibleLines({ text }: Pick<VisibleTextProps, 'text'>) {
  const lines = linesOf(textRuns(text));
  if (lines.length === 1) return shownRuns(lines[0]?.runs ?? []);
  return lines.map(({ number, runs }) => (
    <span key={number} className="numbered-line" data-line={number}>
      <span>{shownRuns(runs)}</span>
    </span>
  ));
}

interface NumberedLine {
  readonly number: number;
  readonly runs: TextRun[];
}

/** Splits runs into lines. Each line contains its line break. An escape can stand for several empty lines. */
function linesOf(runs: readonly TextRun[]): readonly NumberedLine[] {
  const lines: NumberedLine[] = [{ number: 1, runs: [] }];
  for (const run of runs) {
    const parts = run.escape === undefined ? run.text.split(/(?<=\n)/) : [run];
    for (const part of parts) {
      const shown = typeof part === 'string' ? { text: part } : part;
      const { number, runs: line } = lines.at(-1) ?? { number: 1, runs: [] };
      line.push(shown);
      const breaks = shown.text.split('\n').length - 1;
      if (breaks > 0) lines.push({ number: number + breaks, runs: [] });
    }
  }
  return lines;
}

interface TextRun {
  readonly text: string;
  /**
   * The escape that the page shows instead of `text`. Undefined if `text` can be shown as it is.
   */
  readonly escape?: string;
}

/**
 * Characters that are invisible or change how other characters look. Examples are controls,
 * direction marks, joiners, tags, selectors and unusual spaces. Line breaks, tabs and the
 * ideographic space are allowed.
 */
const invisible =
  /(?![\n\t \u3000]|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800]|(?<![\p{Extended_Pictographic}\d#*])\ufe0f/u;

const allInvisible = new RegExp(invisible, 'gu');

/** Matches long runs of spaces, which could move the following text out of view. */
const longBlanks = /[ \t\u3000]{40,}/u;
const emptyLines = /(?<=\n)(?:[ \t\u3000]*\n){3,}/u;
const suspicious = new RegExp(
  `(?<one>${invisible.source})\\k<one>*|(?<longBlanks>${longBlanks.source})|(?<lines>${emptyLines.source})`,
  'gu',
);

/**
 * Matches texts that can contain a long grapheme cluster, for example of marks or Hangul jamo. Browsers never break a
 * line inside a cluster, so a long cluster would leave its box, and many marks can look like one.
 */
const joining = new RegExp(
  `(?:(?!${invisible.source}|[\\u4e00-\\u9fff\\uac00-\\ud7a3])[^\\0-\\u02ff]){9,}`,
  'gu',
);
/** Maximum number of characters of a cluster that is shown as it is. No language needs as many. */
const maxCluster = 8;
const equalCharacters = /(?<one>.)\k<one>*/gsu;
/** Undefined until the first text needs it. */
let segmenter: Intl.Segmenter | undefined;

/**
 * Matches a word. A word that mixes Latin letters with look-alike letters of other scripts is
 * suspicious.
 */
const words = /\p{L}[\p{L}\p{M}]*/gu;
const latin = /\p{Script=Latin}/u;
const lookAlike =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;
const lookAlikes = new RegExp(lookAlike, 'gu');

/** Matches characters that change the direction of the following text. */
const directionMarks = /(?<one>[\u202a-\u202e\u2066-\u2069])\k<one>*/gu;

/**
 * Selects the characters to escape. `directions` escapes only direction marks. It is used for text
 * that the user reads but does not approve.
 */
type EscapeScope = 'all' | 'directions';

/** Splits a text into runs that are shown unchanged and runs that are escaped. */
export function textRuns(text: string, escapes: EscapeScope = 'all'): readonly TextRun[] {
  const runs: TextRun[] = [];
  let through = 0;
  const matches = escapes === 'all' ? hiddenIn(text) : text.matchAll(directionMarks);
  for (const match of matches) {
    if (match.index > through) runs.push({ text: text.slice(through, match.index) });
    runs.push({ text: match[0], escape: labelFor(match[0], match.groups ?? {}) });
    through = match.index + match[0].length;
  }
  if (through < text.length) runs.push({ text: text.slice(through) });
  return runs;
}

/**
 * Returns all characters that a reader would not see or would misread, in the order of the text.
 */
function hiddenIn(text: string): readonly RegExpExecArray[] {
  const found = [...text.matchAll(suspicious), ...longClustersIn(text)];
  found.sort((a, b) => a.index - b.index);
  if (!lookAlike.test(text)) return found;
  const imitated = [...text.matchAll(words)]
    .filter(([word]) => latin.test(word))
    .flatMap(({ 0: word, index }) =>
      [...word.matchAll(lookAlikes)].map((match) => {
        match.index += index;
        match.groups = { one: match[0] };
        return match;
      }),
    );
  return [...found, ...imitated].sort((a, b) => a.index - b.index);
}

/** Returns the characters of long grapheme clusters, without the first character of each cluster. */
function longClustersIn(text: string): readonly RegExpExecArray[] {
  return [...text.matchAll(joining)].flatMap(({ 0: run, index: start }) => {
    segmenter ??= new Intl.Segmenter();
    return [...segmenter.segment(run)].flatMap(({ segment, index: within }) => {
      const [first = '', ...others] = segment;
      if (others.length < maxCluster) return [];
      return [...others.join('').matchAll(equalCharacters)].map((match) => {
        match.index += start + within + first.length;
        return match;
      });
    });
  });
}

/** Replaces invisible characters by JSON escapes. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(allInvisible, (one) => one.split('').map(unitOf).join(''));
}

type Groups = Readonly<Record<string, string | undefined>>;

function labelFor(text: string, { one, longBlanks: isBlanks }: Groups): string {
  if (isBlanks !== undefined) return `␠ ×${text.length}`;
  if (one === undefined) return `↵ ×${text.split('\n').length - 1}`;
  const times = text.length / one.length;
  return times === 1 ? escapeOf(one) : `${escapeOf(one)} ×${times}`;
}

function escapeOf(one: string): string {
  if (one === '\r') return '\\r';
  const code = one.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${hexCode(code)}}` : unitOf(one);
}

const hexCode = (code: number) => code.toString(16).toUpperCase().padStart(4, '0');
const unitOf = (unit: string) => `\\u${hexCode(unit.charCodeAt(0))}`;
