/** A kind of work that tools do, with the words that describe it. */
interface Work {
  readonly names: RegExp;
  readonly text: (count: number) => string;
}

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;

// Patterns for the names of common tools. The first matching pattern is used.
const works: readonly Work[] = [
  { names: /^(?:read|view|cat|open_file)/, text: (count) => `read ${plural(count, 'file')}` },
  { names: /^(?:write|create_file)/, text: (count) => `wrote ${plural(count, 'file')}` },
  {
    names: /^(?:edit|patch|apply_patch|str_replace|multi_?edit)/,
    text: (count) => `made ${plural(count, 'edit')}`,
  },
  {
    names: /^(?:bash|run|shell|exec|terminal|powershell)/,
    text: (count) => `ran ${plural(count, 'command')}`,
  },
  {
    names: /^(?:grep|glob|find|search|ls|list|web_search)/,
    text: (count) => `searched ${count === 1 ? 'once' : `${count} times`}`,
  },
  { names: /^(?:fetch|web_fetch|browse|http)/, text: (count) => `opened ${plural(count, 'page')}` },
];

/** Maximum number of kinds of work in the text. */
const maxKinds = 3;

/** Returns a text about finished tool calls, for example "Read 4 files, ran 2 commands". */
export function callsText(names: readonly string[]): string {
  const kinds = Map.groupBy(names, (name) => {
    const lower = name.toLowerCase();
    return works.find((work) => work.names.test(lower)) ?? name;
  });
  const texts = [...kinds].map(([kind, { length }]) =>
    typeof kind === 'string'
      ? `called ${kind}${length === 1 ? '' : ` ${length} times`}`
      : kind.text(length),
  );
  const rest = [...kinds.values()].slice(maxKinds).flat().length;
  const shown = texts.slice(0, maxKinds);
  const all = rest === 0 ? shown : [...shown, `${plural(rest, 'other call')}`];
  const text = all.join(', ');
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
