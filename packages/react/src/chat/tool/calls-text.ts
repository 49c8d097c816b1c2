import type { Labels } from '../../labels/labels.ts';

type CountLabel =
  | 'readFiles'
  | 'wroteFiles'
  | 'madeEdits'
  | 'ranCommands'
  | 'searchedTimes'
  | 'openedPages';

/** A kind of work that tools do, with the label that describes it. */
interface Work {
  readonly names: RegExp;
  readonly label: CountLabel;
}

// Patterns for the names of common tools. The first matching pattern is used.
const works: readonly Work[] = [
  { names: /^(?:read|view|cat|open_file)/, label: 'readFiles' },
  { names: /^(?:write|create_file)/, label: 'wroteFiles' },
  {
    names: /^(?:edit|patch|apply_patch|str_replace|multi_?edit)/,
    label: 'madeEdits',
  },
  {
    names: /^(?:bash|run|shell|exec|terminal|powershell)/,
    label: 'ranCommands',
  },
  {
    names: /^(?:grep|glob|find|search|ls|list|web_search)/,
    label: 'searchedTimes',
  },
  { names: /^(?:fetch|web_fetch|browse|http)/, label: 'openedPages' },
];

/** Maximum number of kinds of work in the text. */
const maxKinds = 3;

/** Returns a text about finished tool calls, for example "Read 4 files, ran 2 commands". */
export function callsText(names: readonly string[], t: Labels): string {
  const kinds = Map.groupBy(names, (name) => {
    const lower = name.toLowerCase();
    return works.find((work) => work.names.test(lower)) ?? name;
  });
  const texts = [...kinds].map(([kind, { length }]) =>
    typeof kind === 'string' ? t.calledTool(kind, length) : t[kind.label](length),
  );
  const rest = [...kinds.values()].slice(maxKinds).flat().length;
  const shown = texts.slice(0, maxKinds);
  const all = rest === 0 ? shown : [...shown, t.otherCalls(rest)];
  const text = all.join(', ');
  return `${text.slice(0, 1).toLocaleUpperCase(t.locale)}${text.slice(1)}`;
}
