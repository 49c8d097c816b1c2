import type { Item, ItemId, MediaPart } from '@millrace/core';
import { isModeNote, planNote, planOverNote } from '../../agent/session-mode.ts';
import { callsOfMessage } from '../../agent/unasked-calls.ts';
import type { BuiltAgent, RunUnasked } from '../../contract/agent.ts';
import { UsageError } from '../../contract/errors.ts';
import { expandPrompt } from '../../extensions/slash-prompts.ts';
import { readMentionedFiles } from '../../input/attachments/mentioned-files.ts';
import { picturePaths, readPictures } from '../../input/attachments/mentioned-pictures.ts';
import { userItem } from '../../store/session-summaries.ts';

/** The content of a message beside its text. */
export interface MessageContent {
  /** Further texts for the model, for example attached files. Default: none. */
  readonly texts?: readonly string[] | undefined;
  /** Default: none. */
  readonly pictures?: readonly MediaPart[] | undefined;
  /**
   * The texts in which the user can have chosen a file, for example the part of the text that the user typed. A picture
   * outside of the folder is attached only if one of them names it. Default: none.
   */
  readonly chosen?: readonly string[] | undefined;
  /** The id of the message. Default: a new id. */
  readonly id?: ItemId | undefined;
}

interface MessageOptions {
  readonly cwd: string;
  /** The user's home folder, for paths that start with `~`. */
  readonly home?: string | undefined;
  /** Returns the output of commands that the user ran. */
  readonly takeOutputs: () => readonly string[];
  readonly built: () => Pick<BuiltAgent, 'mode' | 'extensions'> &
    Partial<Pick<BuiltAgent, 'servers' | 'runUnasked'>>;
  /** Returns true if the last message was sent in plan mode. */
  readonly isPlanning: () => boolean;
  /** Returns the function that runs the calls of this message. Default: without a limit for all calls together. */
  readonly callsOf?: ((run: RunUnasked) => RunUnasked) | undefined;
  /** Called with each command that runs for a message, and with sentences about its pictures. */
  readonly onNote: (text: string) => void;
}

/**
 * Creates a message with its pictures and files, with the text of the custom command that it names, and with
 * the output of commands that the user ran.
 */
async function messageItem(
  text: string,
  content: MessageContent,
  { cwd, home, takeOutputs, built, isPlanning, callsOf = (run) => run, onNote }: MessageOptions,
): Promise<Item> {
  const { id, chosen } = content;
  // A message without pictures is sent without waiting, so that messages keep their order.
  const hasPictures = picturePaths(text).length > 0;
  const { runUnasked } = built();
  const run = runUnasked && callsOf(runUnasked);
  const isSlash = text.trimStart().startsWith('/');
  const further = isSlash
    ? await expandPrompt(built().extensions, text, built().servers?.prompts(), run)
    : [];
  // An editor attaches its files itself.
  const hasFiles = run !== undefined && text.includes('@') && content.texts === undefined;
  const files = hasFiles ? await readMentionedFiles(text, run) : [];
  const mentioned = hasPictures
    ? await readPictures(text, { cwd, home, run, chosen, onPictures: onNote })
    : [];
  const pictures = [...mentioned, ...(content.pictures ?? [])];
  const attached = [
    ...new Set([...further, ...files]),
    ...[...(content.texts ?? []), ...takeOutputs()],
  ];
  // The first message after plan mode tells the model that plan mode is over.
  const planOver = isPlanning() ? [planOverNote] : [];
  const notes = built().mode() === 'plan' ? [planNote] : planOver;
  return userItem([text, ...attached, ...notes], {
    ...{ cwd, pictures },
    ...(id !== undefined && { ids: { item: () => id } }),
  });
}

interface MessageQueueOptions extends MessageOptions {
  /** Called when a command of a message starts, and when the message is complete. */
  readonly onChange: () => void;
}

/** Creates messages one after the other, so that a message never overtakes one whose commands still run. */
export class MessageQueue {
  readonly #options: MessageQueueOptions;
  #last: Promise<unknown> = Promise.resolve();
  #isRunning = false;
  readonly #open = new Set<AbortController>();

  constructor(options: MessageQueueOptions) {
    this.#options = options;
  }

  /** True while a command of a message runs. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Creates a message. Rejects if `stop` was called meanwhile. */
  create(text: string, content: MessageContent): Promise<Item> {
    const stop = new AbortController();
    this.#open.add(stop);
    const created = this.#last.then(() => this.#create(text, content, stop.signal));
    this.#last = created
      .catch(() => {})
      .finally(() => {
        this.#open.delete(stop);
        if (this.#isRunning) this.#setRunning(false);
      });
    return created;
  }

  /** Stops the commands of all messages that are not complete. */
  stop(): void {
    if (this.#isRunning) for (const one of this.#open) one.abort();
  }

  async #create(text: string, content: MessageContent, signal: AbortSignal): Promise<Item> {
    const { onNote } = this.#options;
    const callsOf = (run: RunUnasked): RunUnasked => {
      const limited = callsOfMessage(run, signal);
      return (name, input, given) => {
        const { command } = input;
        const onStart = () => {
          if (typeof command !== 'string') return;
          onNote(`$ ${command}`);
          this.#setRunning(true);
        };
        return limited(name, input, { ...given, onStart });
      };
    };
    const item = await messageItem(text, content, { ...this.#options, callsOf });
    if (signal.aborted) throw new UsageError('The message was not sent, because you stopped it');
    return item;
  }

  #setRunning(isRunning: boolean): void {
    this.#isRunning = isRunning;
    this.#options.onChange();
  }
}

/** Returns the text of a message without the note about plan mode. */
export function messageText({ parts }: Pick<Item, 'parts'>): string {
  return parts
    .flatMap((part) => (part.kind === 'text' && !isModeNote(part.text) ? part.text : []))
    .join('\n');
}
