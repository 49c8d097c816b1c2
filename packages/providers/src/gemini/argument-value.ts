import { defaultLimits, type JsonObject, type JsonValue } from '@millrace/core';

type Node = string | number | boolean | null | Container;
type Container = Node[] | Fields;
interface Fields {
  [key: string]: Node;
}

export type Leaf = string | number | boolean | null;

/** Positions of an array that may be skipped at once: those of empty elements, which no path names. */
const maxGap = 1024;

/** Arguments that come path by path. */
export class ArgumentValue {
  #root: Fields = emptyFields();
  /** Characters that may yet come. */
  #remaining = defaultLimits.maxTextLength;

  /** Begins with these instead. */
  setAll(args: JsonObject): void {
    this.#root = fieldsOf(args);
  }

  has(path: readonly PathStep[]): boolean {
    let node: Node | undefined = this.#root;
    for (const step of path) {
      node = isContainer(node) ? read(node, step) : undefined;
      if (node === undefined) return false;
    }
    return true;
  }

  /** Text is added to text, all else replaces. False where it contradicts what came, or is too much. */
  setOrAppend(path: readonly PathStep[], leaf: Leaf): boolean {
    const last = path.at(-1);
    if (last === undefined) return false;
    let node: Container = this.#root;
    for (let depth = 0; depth < path.length - 1; depth++) {
      const inner = enterContainer(node, path[depth] ?? '', typeof path[depth + 1] === 'number');
      if (inner === undefined) return false;
      node = inner;
    }
    const known = read(node, last);
    if (isContainer(known) || !this.#charge(known === undefined ? path : [], leaf)) return false;
    const isMore = typeof known === 'string' && typeof leaf === 'string';
    return write(node, last, isMore ? known + leaf : leaf);
  }

  #charge(steps: readonly PathStep[], leaf: Leaf): boolean {
    for (const step of steps) this.#remaining -= 1 + (typeof step === 'string' ? step.length : 0);
    this.#remaining -= typeof leaf === 'string' ? leaf.length : 1;
    return this.#remaining >= 0;
  }

  get json(): string {
    return JSON.stringify(this.#root, (_, value: unknown) =>
      typeof value === 'string' ? value.toWellFormed() : value,
    );
  }
}

/** Without a prototype, so that `__proto__` is a key like any other. */
function emptyFields(): Fields {
  return Object.create(null);
}

function isContainer(node: Node | undefined): node is Container {
  return typeof node === 'object' && node !== null;
}

function read(node: Container, step: PathStep): Node | undefined {
  if (Array.isArray(node)) return typeof step === 'number' ? node[step] : undefined;
  return typeof step === 'string' ? node[step] : undefined;
}

function write(node: Container, step: PathStep, value: Node): boolean {
  if (Array.isArray(node)) {
    if (typeof step !== 'number' || step - node.length > maxGap) return false;
    while (node.length < step) node.push(null);
    node[step] = value;
    return true;
  }
  if (typeof step !== 'string') return false;
  node[step] = value;
  return true;
}

/** The container there, which is created where there is nothing yet. */
function enterContainer(node: Container, step: PathStep, isArray: boolean): Container | undefined {
  const known = read(node, step);
  if (isContainer(known)) return known;
  if (known !== undefined && known !== null) return undefined;
  const created = isArray ? [] : emptyFields();
  return write(node, step, created) ? created : undefined;
}

function nodeOf(value: JsonValue): Node {
  if (typeof value !== 'object' || value === null) return value;
  return isList(value) ? value.map(nodeOf) : fieldsOf(value);
}

function fieldsOf(object: JsonObject): Fields {
  const fields = emptyFields();
  for (const [key, value] of Object.entries(object)) fields[key] = nodeOf(value);
  return fields;
}

/** Array.isArray, which does not narrow a readonly array by itself. */
function isList(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value);
}

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
