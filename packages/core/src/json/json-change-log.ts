import type { JsonSink } from './json-tokens.ts';
import type { JsonPath, JsonTree } from './json-tree.ts';
import type { JsonValue } from './json-value.ts';

/**
 * What a fragment changed. One that makes more than 1,000 changes, and more than an eighth as many as
 * values were set before it, is told by one: path [] is set to the value after the fragment.
 */
export type JsonChange =
  /** A value appeared: whole, a string with what is known of it, or a container still empty. */
  | { readonly type: 'set'; readonly path: JsonPath; readonly value: JsonValue }
  /** The string at path grew. */
  | { readonly type: 'append'; readonly path: JsonPath; readonly suffix: string };

// Frozen because all changes share them.
const emptyObject: JsonValue = Object.freeze({});
const emptyArray: JsonValue = Object.freeze([]);
const noChanges: readonly JsonChange[] = Object.freeze([]);

/**
 * So many changes of a fragment are always told one by one. A path is as long as its place is deep, so
 * that the numbers of one large fragment could take gigabytes.
 */
const minRoom = 1000;
/**
 * To tell the whole value is to copy what is open of it, and so must not happen again before much has
 * come: thus a fragment costs no more than a multiple of its own values.
 */
const roomShare = 1 / 8;

/** Notes what is written to a tree on its way there. */
export class JsonChangeLog implements JsonSink {
  readonly #tree: JsonTree;
  #changes: JsonChange[] | undefined;
  /** Changes since the last take, those for which there was no room included. */
  #count = 0;
  /** How many of them are kept. */
  #room = minRoom;
  /** Values set since the beginning. */
  #values = 0;
  /** Of the open string, made once: many a fragment appends to the same place. */
  #path: JsonPath = [];
  /** What the open string gained since its last change was noted. */
  #suffix = '';
  /** Has the open string still to be set? If so, `#suffix` is all of it. */
  #isNew = false;

  constructor(tree: JsonTree) {
    this.#tree = tree;
  }

  /** The changes since the last take, each string's growth as one, or one for all if they are too many. */
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

  /** Most fragments change one thing, and an array made with its only element is the smallest. */
  #note(change: JsonChange): void {
    this.#count += 1;
    if (this.#count > this.#room) return;
    if (this.#changes === undefined) this.#changes = [change];
    else this.#changes.push(change);
  }
}
