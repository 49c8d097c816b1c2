import { defaultContentLimits, type JsonObject, type JsonValue } from '@millrace/core';

type Node = string | number | boolean | null | Container;
type Container = Node[] | Fields;
interface Fields {
  [key: string]: Node;
}

export type Leaf = string | number | boolean | null;

/**
 * Maximum number of array elements that one path can skip. The API does not send a path for empty elements.
 */
const maxGap = 1024;

/** The number of characters for which a container counts, because it needs much more memory than its text. */
const containerCost = 64;

/** The arguments of a call, built from pairs of a path and a value. */
export class ArgumentValue {
  #root: Fields = emptyFields();
  /** The number of characters that can still be added to the value. */
  #remaining = defaultContentLimits.maxTextLength;

  /** Replaces the whole value. */
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

  /**
   * Sets the value at a path. If the path already has a text, a new text is appended to it. All other values
   * are replaced. Returns false if the value contradicts an earlier value or is too large.
   */
  setOrAppend(path: readonly PathStep[], leaf: Leaf): boolean {
    const last = path.at(-1);
    if (last === undefined) return false;
    let node: Container = this.#root;
    for (let depth = 0; depth < path.length - 1; depth++) {
      const step = path[depth] ?? '';
      if (!this.#chargePlace(node, step, containerCost)) return false;
      const inner = enterContainer(node, step, typeof path[depth + 1] === 'number');
      if (inner === undefined) return false;
      node = inner;
    }
    const known = read(node, last);
    if (isContainer(known) || !this.#charge(known === undefined ? path : [], leaf)) return false;
    if (!this.#chargePlace(node, last, 0)) return false;
    const isMore = typeof known === 'string' && typeof leaf === 'string';
    return write(node, last, isMore ? known + leaf : leaf);
  }

  /** Counts the memory of a new place: the array elements that the step skips, and `cost`. */
  #chargePlace(node: Container, step: PathStep, cost: number): boolean {
    if (!isContainer(read(node, step))) this.#remaining -= cost;
    if (Array.isArray(node) && typeof step === 'number')
      this.#remaining -= Math.max(0, step - node.length) * 'null,'.length;
    return this.#remaining >= 0;
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

/** Creates an object without a prototype, so that `__proto__` is an ordinary key. */
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

/**
 * Returns the container at this step, and creates it if it is missing. Returns undefined if the step already
 * has a value that is not such a container.
 */
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

/**
 * Returns whether a container is an array. `Array.isArray` alone does not narrow the type of a
 * readonly array.
 */
function isList(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** A key of an object, or an index of an array. */
export type PathStep = string | number;

/** Maximum depth of nested arguments. */
const maxSteps = 128;

/** Matches `.name`, `[0]`, `['name']` or `["name"]`. */
const stepForm = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/sy;

/** Parses a path such as `$.legs[0].from` or `$['a.b']`. Returns undefined for an invalid path. */
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
