const tabStop = 4;

/** Tabs as spaces up to the next stop: what a tab takes cannot be counted otherwise. */
export function expandTabs(text: string): string {
  return text.includes('\t') ? text.split('\n').map(expandLine).join('\n') : text;
}

function expandLine(line: string): string {
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce(
    (before, piece) => before + ' '.repeat(tabStop - (before.length % tabStop)) + piece,
    first,
  );
}
