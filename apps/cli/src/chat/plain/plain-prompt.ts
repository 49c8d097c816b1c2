import type { CompletionItem } from '../../input/completion/completion.ts';
import { completions } from '../../input/completion/completions.ts';
import {
  FileList,
  maxWorkspaceFiles,
  workspaceFiles,
} from '../../input/completion/workspace-files.ts';
import type { EditorState } from '../../input/editor/editor-state.ts';
import { foldLabel } from '../../input/editor/folded-text.ts';
import type { Key } from '../../input/keys/key.ts';
import { EditorStore, pressInEditor } from '../../input/prompt/editor-store.ts';
import type { ChatApp } from '../chat-app.ts';
import type { ChatHistory } from '../open-chat.ts';
import { completableCommands, needsOwnKeys, warnTooManyFiles } from '../screen/prompt-commands.ts';

/** Maximum number of completions to print. */
const maxPrinted = 20;
/** The prompt does not wrap its text, so Up and Down move between the lines of the text. */
const promptWidth = 2 ** 20;

interface PlainPromptOptions {
  readonly app: ChatApp;
  readonly history: ChatHistory;
  /** Prints lines about the prompt. */
  readonly print: (lines: readonly string[]) => void;
  /** Called before a text is sent. */
  readonly onSend: (text: string) => void;
}

/** The prompt of the plain mode. It has the keys of the drawn prompt. Tab completes, and prints the possible names. */
export class PlainPrompt {
  readonly editor: EditorStore;
  readonly #options: PlainPromptOptions;
  readonly #files: FileList;

  constructor(options: PlainPromptOptions) {
    const { app, history } = options;
    const { cwd, env, clock } = app;
    this.#options = options;
    this.editor = new EditorStore(history.entries);
    this.#files = new FileList({
      list: (signal) => workspaceFiles({ cwd, env, signal }),
      onChange: ({ length }) => {
        if (length >= maxWorkspaceFiles) warnTooManyFiles(app);
      },
      clock,
    });
  }

  get state(): EditorState {
    return this.editor.snapshot().state;
  }

  readonly press = (key: Key, isAlone: boolean): void => {
    const { app, history, onSend } = this.#options;
    const { editor } = this;
    if (key.type === 'key' && key.name === 'tab' && !key.shift) return void this.#complete();
    const sends = (send: ChatApp['submit']) => (text: string, chosen: readonly string[]) => {
      onSend(text);
      send(text, chosen);
    };
    const options = {
      onKey: (one: Key) => app.vim.press(one, editor),
      ...{ onSubmit: sends(app.submit), onQueue: sends(app.queue) },
      ...{ onStop: app.stop, onLeave: app.quit, onSent: history.add, onEscape: app.escapeIdle },
      ...{ onInterrupt: app.interrupt, onEmptyEnter: () => void app.conversation.retry() },
      onTakeBack: app.conversation.hasQueued ? app.withdrawLast : undefined,
      ...{ isBusy: app.isBusy, width: promptWidth },
      onFilesWanted: () => void this.#files.refresh(),
      needsOwnKeys: (text: string, isFolded: boolean) => needsOwnKeys(app, text, isFolded),
    };
    pressInEditor(editor, key, options, isAlone);
  };

  close(): void {
    this.#files.close();
  }

  async #complete(): Promise<void> {
    const before = this.state;
    await this.#files.refresh();
    if (this.state !== before) return;
    const { app, print } = this.#options;
    const sources = { files: this.#files.files, commands: completableCommands(app) };
    const found = completions(before, sources);
    if (found === undefined) return print(['No completion.']);
    const { start, end, items } = found;
    const typed = before.text.slice(start, end);
    const common = commonStart(items.map(({ insert }) => insert));
    const [only] = items;
    if (only !== undefined && items.length === 1) this.#replace(start, end, only.insert);
    else if (common.length > typed.length && common.startsWith(typed))
      this.#replace(start, end, common);
    if (items.length === 1) return;
    const shown = items.slice(0, maxPrinted).map(itemText);
    const more = items.length - shown.length;
    print([
      `${items.length} completions:`,
      ...shown,
      ...(more > 0 ? [`${more} more. Type more letters.`] : []),
    ]);
  }

  #replace(start: number, end: number, text: string): void {
    this.editor.dispatch({ type: 'replace', start, end, text });
  }
}

function itemText({ label, description }: CompletionItem): string {
  return description === undefined ? label : `${label}: ${description}`;
}

function commonStart(texts: readonly string[]): string {
  const [first = '', ...others] = texts;
  let length = first.length;
  for (const text of others) while (!text.startsWith(first.slice(0, length))) length--;
  return first.slice(0, length);
}

/** Returns the text up to the cursor. A long paste is replaced by its label. */
export function textToCursor({ text, folds, cursor }: EditorState): string {
  let shown = '';
  let from = 0;
  for (const fold of folds) {
    if (fold.end > cursor) break;
    shown += text.slice(from, fold.start) + foldLabel(fold);
    from = fold.end;
  }
  return shown + text.slice(from, cursor);
}
