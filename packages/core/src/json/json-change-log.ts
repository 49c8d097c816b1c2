import type { JsonSink } from './json-sink.ts';
import type { JsonPath, JsonTree } from './json-tree.ts';
import type { JsonValue } from './json-value.ts';

/** What a fragment changed. */
export type JsonChange =
  /** A value appeared: whole, a string with what is known of it, or a container still empty. */
  | { readonly type: 'set'; readonly path: JsonPath; readonly value: JsonValue }
  /** The string at path grew. */
  | { readonly type: 'append'; readonly path: JsonPath; readonly suffix: string };

// Frozen because all changes share them.
const emptyObject: JsonValue = Object.freeze({});
const emptyArray: JsonValue = Object.freeze([]);
const noChanges: readonly JsonChange[] = Object.freeze([]);

/** Notes what is written to a tree on its way there. */
export class JsonChangeLog implements JsonSink {
  readonly #tree: JsonTree;
  #changes: JsonChange[] | undefined;
  /** Of the open string, made once: many a fragment appends to the same place. */
  #path: JsonPath = [];
  /** What the open string gained since its last change was noted. */
  #suffix = '';
  /** Has the open string still to be set? If so, `#suffix` is all of it. */
  #isNew = false;

  constructor(tree: JsonTree) {
    this.#tree = tree;
  }

  /** The changes since the last take, each string's growth as one. */
  take(): readonly JsonChange[] {
    this.#noteString();
    const changes = this.#changes ?? noChanges;
    this.#changes = undefined;
    return changes;
  }

  openObject(): void {
    this.#set(emptyObject);
    this.#tree.openObject();
  }

  openArray(): void {
    this.#set(emptyArray);
    this.#tree.openArray();
  }

  close(): void {
    this.#tree.close();
  }

  key(name: string): void {
    this.#tree.key(name);
  }

  scalar(value: number | boolean | null): void {
    this.#set(value);
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

  #set(value: JsonValue): void {
    this.#note({ type: 'set', path: this.#tree.path, value });
  }

  #noteString(): void {
    if (this.#isNew) {
      this.#note({ type: 'set', path: this.#path, value: this.#suffix });
    } else if (this.#suffix !== '') {
      this.#note({ type: 'append', path: this.#path, suffix: this.#suffix });
    }
    this.#isNew = false;
    this.#suffix = '';
  }

  /** Most fragments change one thing, and an array made with its only element is the smallest. */
  #note(change: JsonChange): void {
    if (this.#changes === undefined) this.#changes = [change];
    else this.#changes.push(change);
  }
}
