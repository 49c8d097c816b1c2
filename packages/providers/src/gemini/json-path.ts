/** A key of an object, or a position in an array. */
export type PathStep = string | number;

/** As deep as arguments may be nested. */
const maxSteps = 128;

/** `.name`, `[0]`, `['name']` or `["name"]`. */
const stepForm = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/sy;

/** The steps of a path such as `$.legs[0].from` or `$['a.b']`; undefined for what is no such path. */
export function parsePath(path: string): readonly PathStep[] | undefined {
  const rest = path.startsWith('$') ? path.slice(1) : `.${path}`;
  const steps: PathStep[] = [];
  stepForm.lastIndex = 0;
  for (let at = 0; at < rest.length; at = stepForm.lastIndex) {
    const match = stepForm.exec(rest);
    if (match === null || steps.length === maxSteps) return undefined;
    steps.push(stepOf(match));
  }
  return steps.length === 0 ? undefined : steps;
}

function stepOf([, name, index, single, double]: RegExpExecArray): PathStep {
  if (index !== undefined) return Number(index);
  return name ?? unescaped(single ?? double ?? '');
}

const controls: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

function unescaped(quoted: string): string {
  return quoted.replace(/\\(?:u([0-9a-f]{4})|(.))/gis, (_, code?: string, char = '') =>
    code === undefined ? (controls[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
