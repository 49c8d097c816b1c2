import type { JsonSink } from './json-tokens.ts';
import type { JsonValue } from './json-value.ts';

/** The keys and indices from the root to a value. */
export type JsonPath = readonly (string | number)[];

/**
 * Builds the value of a text that is still arriving. The tree changes open objects and arrays in place, and
 * never returns them. A read returns copies of the open containers. A closed container never changes, so it
 * needs no copy. A value that was read therefore never changes.
 */
export class JsonTree implements JsonSink {
  /** The innermost open container. */
  #frame: Frame | undefined;
  /** The open string, which is not in its container yet. */
  #text: string | undefined;
  /**
   * The value of the whole text, as the last read returned it. After the end of the text, this is the final
   * value.
   */
  #root: JsonValue | undefined;
  /**
   * True if the tree changed since the last read. One flag is enough, because each write changes the
   * innermost open container and therefore all containers around it.
   */
  #changed = false;

  /** Returns an immutable snapshot, which shares unchanged parts with the previous snapshot. */
  get value(): JsonValue | undefined {
    if (this.#changed) {
      this.#root = this.#snapshot();
      this.#changed = false;
    }
    return this.#root;
  }

  /** The path of the open string or, if no string is open, of the next value. */
  get path(): JsonPath {
    const path: (string | number)[] = [];
    for (let frame = this.#frame; frame !== undefined; frame = frame.parent) path.push(frame.key);
    return path.reverse();
  }

  openObject(): void {
    const live: Record<string, JsonValue> = {};
    this.#open({ type: 'object', live, key: '', parent: this.#frame, snapshot: live });
  }

  openArray(): void {
    const live: JsonValue[] = [];
    this.#open({ type: 'array', live, key: 0, parent: this.#frame, snapshot: live });
  }

  close(): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    this.#frame = frame.parent;
    this.#finish(this.#changed ? frame.live : frame.snapshot);
  }

  key(name: string): void {
    if (this.#frame?.type === 'object') this.#frame.key = name;
  }

  scalar(value: number | boolean | null): void {
    this.#changed = true;
    this.#finish(value);
  }

  openString(): void {
    this.#changed = true;
    this.#text = '';
  }

  text(run: string): void {
    this.#changed = true;
    this.#text += run;
  }

  closeString(): void {
    const text = this.#text ?? '';
    this.#text = undefined;
    this.#finish(text);
  }

  #open(frame: Frame): void {
    this.#changed = true;
    this.#frame = frame;
  }

  /** Completes the value at the current position. */
  #finish(value: JsonValue): void {
    if (this.#frame === undefined) {
      this.#root = value;
      this.#changed = false;
    } else {
      put(this.#frame, value);
      if (this.#frame.type === 'array') this.#frame.key += 1;
    }
  }

  /**
   * Copies the open containers from the inside to the outside, because the copy of an outer container must
   * contain the copy of the inner container.
   */
  #snapshot(): JsonValue | undefined {
    let inner: JsonValue | undefined = this.#text;
    for (let frame = this.#frame; frame !== undefined; frame = frame.parent) {
      if (inner !== undefined) put(frame, inner);
      frame.snapshot = frame.type === 'array' ? frame.live.slice() : { ...frame.live };
      inner = frame.snapshot;
    }
    return inner;
  }
}

/** An open container. `key` is the position of its open or next value. */
type Frame = ArrayFrame | ObjectFrame;

interface ArrayFrame extends FrameLinks {
  readonly type: 'array';
  readonly live: JsonValue[];
  key: number;
}

interface ObjectFrame extends FrameLinks {
  readonly type: 'object';
  readonly live: Record<string, JsonValue>;
  key: string;
}

interface FrameLinks {
  readonly parent: Frame | undefined;
  /** The copy that the last read returned. Before the first read, it is the same object as `live`. */
  snapshot: JsonValue;
}

function put(frame: Frame, value: JsonValue): void {
  if (frame.type === 'array') {
    frame.live[frame.key] = value;
  } else if (frame.key in Object.prototype) {
    // An assignment to `__proto__` would set the prototype of the object. An assignment to another inherited
    // name would throw if the prototype is frozen. `defineProperty` avoids both.
    const writable = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(frame.live, frame.key, writable);
  } else {
    frame.live[frame.key] = value;
  }
}
