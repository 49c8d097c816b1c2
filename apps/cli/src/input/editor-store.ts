import type { CompletionSources, Completions } from './completion.ts';
import { completions, isNamingFile } from './completions.ts';
import type { EditAction } from './edit-action.ts';
import { createEditor, type EditorState, type HistoryEntry } from './editor-state.ts';
import { createView, type EditorView, menuOf, withEdit } from './editor-view.ts';
import type { Key } from './key.ts';
import type { Menu } from './menu.ts';
import { type Effect, type PressContext, pressKey } from './press-key.ts';

export interface EditorSnapshot {
  readonly state: EditorState;
  readonly menu: Menu | undefined;
}

/**
 * Holds the editor outside of React: keys that come in one chunk each see what the one before did,
 * and a change is drawn at once instead of waiting behind what streams.
 */
export class EditorStore {
  #view: EditorView;
  #sources: CompletionSources = {};
  #found: Completions | undefined;
  #snapshot: EditorSnapshot;
  readonly #listeners = new Set<() => void>();

  constructor(history: readonly HistoryEntry[] = []) {
    this.#view = createView(createEditor(history));
    this.#snapshot = { state: this.#view.state, menu: undefined };
  }

  readonly snapshot = (): EditorSnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly dispatch = (action: EditAction): void => this.#become(withEdit(this.#view, action));

  /** What `@` and `/` offer has changed, while a list may be open. */
  setSources(sources: CompletionSources): void {
    if (sources === this.#sources) return;
    this.#sources = sources;
    this.#become(this.#view);
  }

  press(key: Key, context: Omit<PressContext, 'found'>): Effect | undefined {
    const { view, effect } = pressKey(this.#view, key, { ...context, found: this.#found });
    this.#become(view);
    return effect;
  }

  /** An @ is being typed. */
  wantsFiles(): boolean {
    return this.#view.mayComplete && isNamingFile(this.#view.state);
  }

  #become(view: EditorView): void {
    this.#view = view;
    this.#found = completions(view.state, this.#sources);
    const menu = menuOf(view, this.#found);
    const { state, menu: before } = this.#snapshot;
    const isSame = state === view.state && menu === undefined && before === undefined;
    if (isSame) return;
    this.#snapshot = { state: view.state, menu };
    for (const listener of this.#listeners) listener();
  }
}
