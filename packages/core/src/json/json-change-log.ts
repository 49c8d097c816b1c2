import type { JsonSink } from './json-tokens.ts';
import type { JsonPath, JsonTree } from './json-tree.ts';
import type { JsonValue } from './json-value.ts';

/**
 * A change that a fragment made to the value. If a fragment makes too many changes, one change replaces all
 * of them: it sets path [] to the whole value after the fragment. The limit is 1,000 changes, or an eighth of
 * the values that earlier fragments have set, if that is more.
 */
export type JsonChange =
  /** A new value: a complete value, the first part of a string, or an empty object or array. */
  | { readonly type: 'set'; readonly path: JsonPath; readonly value: JsonValue }
  /** The string at `path` grew. */
  | { readonly type: 'append'; readonly path: JsonPath; readonly suffix: string };

// The constants below are frozen, because all changes share them.
const emptyObject: JsonValue = Object.freeze({});
const emptyArray: JsonValue = Object.freeze([]);
const noChanges: readonly JsonChange[] = Object.freeze([]);

/**
 * The number of changes per fragment that are always reported one by one. The path of a change is as long as
 * its value is deep. Without a limit, the changes of one large fragment could take gigabytes.
 */
const minRoom = 1000;
/**
 * If earlier fragments have set many values, the limit is this share of their number. A report of the whole
 * value copies the open objects and arrays, so it must be rare. With this share, the time for a fragment
 * stays proportional to the number of its own values.
 */
const roomShare = 1 / 8;

/** Writes tokens to a tree and records the changes that they make. */
export class JsonChangeLog implements JsonSink {
  readonly #tree: JsonTree;
  #changes: JsonChange[] | undefined;
  /** The number of changes since the last `take`, including changes beyond the limit, which are not kept. */
  #count = 0;
  /** The maximum number of changes to keep. */
  #room = minRoom;
  /** The number of values that all fragments have set so far. */
  #values = 0;
  /**
   * The path of the open string. It is created once, because many fragments append to the same
   * string.
   */
  #path: JsonPath = [];
  /** Text that the open string gained since its last recorded change. */
  #suffix = '';
  /** True until the open string is recorded as a change. `#suffix` is then the whole string. */
  #isNew = false;

  constructor(tree: JsonTree) {
    this.#tree = tree;
  }

  /**
   * Returns the changes since the last `take`. All new text of a string is one change. If there are too many
   * changes, one change replaces them (see `JsonChange`).
   */
  take(): readonly JsonChange[] {
    this.#noteString();
    const changes = this.#count > this.#room ? [this.#whole()] : (this.#changes ?? noChanges);
    this.#changes = undefined;
    this.#count = 0;
    this.#room = Math.max(minRoom, this.#values * roomShare);
    return changes;
  }

  openObject(): void {
    this.#set(this.#tree.path, emptyObject);
    this.#tree.openObject();
  }

  openArray(): void {
    this.#set(this.#tree.path, emptyArray);
    this.#tree.openArray();
  }

  close(): void {
    this.#tree.close();
  }

  key(name: string): void {
    this.#tree.key(name);
  }

  scalar(value: number | boolean | null): void {
    this.#set(this.#tree.path, value);
    this.#tree.scalar(value);
  }

  openString(): void {
    this.#tree.openString();
    this.#path = this.#tree.path;
    this.#isNew = true;
  }

  text(run: string): void {
    this.#tree.text(run);
    this.#suffix += run;
  }

  closeString(): void {
    this.#tree.closeString();
    this.#noteString();
  }

  #whole(): JsonChange {
    return { type: 'set', path: [], value: this.#tree.value ?? null };
  }

  #set(path: JsonPath, value: JsonValue): void {
    this.#values += 1;
    this.#note({ type: 'set', path, value });
  }

  #noteString(): void {
    if (this.#isNew) {
      this.#set(this.#path, this.#suffix);
    } else if (this.#suffix !== '') {
      this.#note({ type: 'append', path: this.#path, suffix: this.#suffix });
    }
    this.#isNew = false;
    this.#suffix = '';
  }

  /**
   * Adds a change. Most fragments make one change, so the first change creates a list with one element, which
   * takes the least memory.
   */
  #note(change: JsonChange): void {
    this.#count += 1;
    if (this.#count > this.#room) return;
    if (this.#changes === undefined) this.#changes = [change];
    else this.#changes.push(change);
  }
}
