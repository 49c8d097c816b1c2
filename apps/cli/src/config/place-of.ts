/** A value in JSON: the names and indexes that lead to it. */
export type Path = readonly PropertyKey[];

/** A path as people write it: `models.fast.baseUrl`, `permissions.allow[2]`. */
export function pathText(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${nameText(String(step))}`))
    .join('')
    .replace(/^\./, '');
}

/** A name of a file, as a message can have it. */
export function nameText(name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return /^[\w$-]+$/.test(name) ? shown : JSON.stringify(shown);
}

/** The line and the column of a position, both counted from 1, as editors take them. */
export function lineAndColumn(text: string, position: number): string {
  const lines = text.slice(0, position).split('\n');
  return `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** Where a path leads to in a text that is valid JSON: to a property's name, to an entry of a list. */
export function positionOf(text: string, path: Path): number {
  const found = spotsOf(text);
  for (let length = path.length; length > 0; length--) {
    const position = found.get(JSON.stringify(path.slice(0, length)));
    if (position !== undefined) return position;
  }
  return 0;
}

/** Everything in it by its path. Of a name that stands twice the last, as JSON.parse takes it. */
function spotsOf(text: string): ReadonlyMap<string, number> {
  const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g)];
  const spots = new Map<string, number>();
  let at = 0;
  const isNext = (token: string) => tokens[at]?.[0] === token;
  const walk = (path: Path, position: number) => {
    spots.set(JSON.stringify(path), position);
    const isList = isNext('[');
    if (!isList && !isNext('{')) return void at++;
    at++;
    for (let index = 0; at < tokens.length && !isNext(isList ? ']' : '}'); index++) {
      const { 0: name = '', index: start = 0 } = tokens[at] ?? {};
      if (!isList) at += 2;
      walk([...path, isList ? index : JSON.parse(name)], start);
      if (isNext(',')) at++;
    }
    at++;
  };
  walk([], 0);
  return spots;
}
