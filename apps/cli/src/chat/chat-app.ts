import type { Clock } from '@millrace/agent';
import { type Ids, randomIds, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { Config } from '../contract/config.ts';
import type { Key } from '../input/keys/key.ts';
import type { Theme } from '../text/theme/theme.ts';
import { isCommand, runSlashCommand } from './commands/command-table.ts';
import type { CommandContext } from './commands/slash-command.ts';
import { type Block, note } from './contract/block.ts';
import type { ChatState } from './contract/chat-state.ts';
import type { PickList } from './contract/dialog.ts';
import { ChangePreviews } from './dialog/change-previews.ts';
import { DialogController } from './dialog/dialog-controller.ts';
import { OpenQuestions } from './dialog/open-questions.ts';
import { RememberedAnswers } from './dialog/remembered-answers.ts';
import type { DebouncedSize } from './screen/debounced-size.ts';
import { Display } from './screen/display.ts';
import type { ScreenOutput } from './screen/screen-output.ts';
import { Conversation } from './session/conversation.ts';
import { ReplaySession } from './session/replay-session.ts';
import { UserCommands } from './session/user-commands.ts';
import { lastScreenful, resumeNotice, storeDeletedNotice } from './session-notices.ts';

interface ChatAppOptions {
  readonly log: Log;
  readonly built: BuiltAgent;
  readonly config: Config;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly theme: Theme;
  readonly screen: Pick<ScreenOutput, 'columns' | 'rows' | 'redraw'> & {
    readonly size: Pick<DebouncedSize, 'pause' | 'resume'>;
  };
  readonly onQuit: () => void;
  readonly ids?: Ids | undefined;
  /**
   * Returns false if the session is no longer stored, because the session file was deleted.
   * Default: a function that always returns true.
   */
  readonly isStored?: (() => boolean) | undefined;
  /**
   * Stops the process as Ctrl-Z does in a shell, and resolves when it continues. Without it, Ctrl-Z
   * has no effect.
   */
  readonly suspendProcess?: (() => Promise<void>) | undefined;
}

/** A second Ctrl-C within this time closes the chat, and a second Esc goes back to a message. */
const secondKeyMs = 2000;

/** Waits for the second press of a key after the first one. */
class SecondPress {
  readonly #chat: Pick<ChatApp, 'clock' | 'display'>;
  #cancelWait: (() => void) | undefined;

  constructor(chat: Pick<ChatApp, 'clock' | 'display'>) {
    this.#chat = chat;
  }

  /** True between the first press and the second one. */
  get isAwaited(): boolean {
    return this.#cancelWait !== undefined;
  }

  /** Handles a press. Returns true if it is the second one. */
  press(): boolean {
    const { clock, display } = this.#chat;
    const isSecond = this.isAwaited;
    this.cancel();
    if (!isSecond)
      this.#cancelWait = clock.after(secondKeyMs, () => {
        this.#cancelWait = undefined;
        display.drawNow();
      });
    display.drawNow();
    return isSecond;
  }

  cancel(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}

type Suspend = (callback: () => Promise<void>) => Promise<void>;

const noSuspend = () => Promise.resolve();

/**
 * The chat without its terminal: the current session, the open dialog and the content of the
 * display.
 */
export class ChatApp implements CommandContext {
  readonly log: Log;
  readonly cwd: string;
  readonly config: Config;
  readonly env: ChatAppOptions['env'];
  readonly clock: Clock;
  readonly dialogs: DialogController;
  readonly display: Display;
  readonly #options: ChatAppOptions;
  readonly #ids: Ids;
  readonly #questions: OpenQuestions;
  readonly #previews: ChangePreviews;
  readonly #commands: UserCommands;
  #built: BuiltAgent;
  #conversation: Conversation;
  #replay: ReplaySession | undefined;
  #suspendTerminal: () => Promise<void> = noSuspend;
  #putBack: (text: string) => void = () => {};
  readonly #ctrlC = new SecondPress(this);
  readonly #escape = new SecondPress(this);

  constructor(options: ChatAppOptions, session: SessionId) {
    const { log, cwd, config, env, clock, theme, screen, built } = options;
    this.#options = options;
    this.log = log;
    this.cwd = cwd;
    this.config = config;
    this.env = env;
    this.clock = clock;
    this.#ids = options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes));
    this.#built = built;
    this.display = new Display({ clock, theme, size: () => screen, isBusy: () => this.isBusy });
    this.#questions = new OpenQuestions(() => this.display.requestDraw());
    this.#previews = new ChangePreviews(
      // A session of another folder gets no preview, because a file of the same name in this folder
      // is a different file.
      async (call) =>
        this.#conversation.otherFolder === undefined ? this.#built.preview(call) : undefined,
      () => this.display.requestDraw(),
    );
    this.#commands = new UserCommands({ built: () => this.#built, print: this.print });
    this.#built.setQuestionHandler(this.#questions.ask);
    this.#conversation = this.#newConversation(session);
    this.dialogs = this.#newDialogController();
  }

  get built(): BuiltAgent {
    return this.#built;
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  /**
   * The state to show. During a replay, it is the state of the replay, otherwise the state of the
   * session.
   */
  get state(): ChatState {
    return this.#replay?.state ?? this.#conversation.state;
  }

  /** The current time. During a replay, it is the time in the recorded session. */
  get now(): number {
    return this.#replay?.now ?? this.clock.now();
  }

  get isBusy(): boolean {
    return this.#replay !== undefined || this.#commands.isRunning || this.#conversation.isBusy;
  }

  readonly print = (...blocks: readonly Block[]): void => this.display.print(blocks);

  readonly pick = (pick: PickList): void => this.dialogs.pick(pick);

  readonly newSession = (): SessionId => this.#ids.session();

  readonly quit = (): void => this.#options.onQuit();

  readonly putBack = (text: string): void => this.#putBack(text);

  /** Opens a session and prints its end. Undefined opens a new session. */
  async open(session: SessionId | undefined): Promise<void> {
    const before = this.#conversation;
    this.#conversation = this.#newConversation(session ?? this.newSession());
    await before.close();
    if (session === undefined) this.print(note('dim', 'A new session.'));
    await this.showSession();
  }

  /** Prints the end of the session and resumes its unfinished work. */
  async showSession(): Promise<void> {
    const conversation = this.#conversation;
    const { blocks, count: total } = await conversation.open();
    const { look, rows } = this.display;
    const { session } = conversation;
    this.print(...lastScreenful(look, blocks, { total, rows, session }));
    await conversation.resumeInterrupted();
  }

  readonly switchModel = (chosen: ChosenModel): void => {
    this.#built = this.#built.with({ chosen });
    this.display.requestDraw();
  };

  readonly replay = (speed: number): void => {
    const { log, clock, display } = this;
    const { session } = this.#conversation;
    const print = (blocks: readonly Block[]) => display.print(blocks);
    const onChange = () => display.requestDraw();
    const replay = new ReplaySession({ log, session, clock, speed, print, onChange });
    this.#replay = replay;
    this.print(note('mark', `▶ Replay at ${speed}× speed. Esc stops it.`));
    replay
      .play()
      .then((end) => this.print(note('mark', end === 'done' ? '■ replay finished' : '■ stopped')))
      .catch((error: unknown) => this.#printError(error))
      .finally(() => {
        this.#replay = undefined;
        display.requestDraw();
      });
  };

  /** Handles Enter: runs a slash command or sends a message. */
  readonly submit = (text: string): void => {
    // A new message ends a replay.
    this.#replay?.stop();
    this.#runInBackground(this.#perform(text));
  };

  async #perform(text: string): Promise<void> {
    const command = /^!(?!!)([\s\S]+)$/.exec(text.trim())?.[1]?.trim();
    if (command !== undefined) await this.#commands.run(command);
    else if (isCommand(text)) await runSlashCommand(this, text);
    else await this.#conversation.send(text);
    this.display.requestDraw();
  }

  /** Handles Alt-Enter during a run: queues a message. */
  readonly queue = (text: string): void => {
    this.#replay?.stop();
    this.#runInBackground(this.#conversation.queue(text));
  };

  /** Handles Esc, or Ctrl-C during a run: stops the run or the replay. */
  readonly stop = (): void => {
    if (this.#replay !== undefined) return this.#replay.stop();
    this.#questions.dismissAll();
    this.#commands.stop();
    this.#runInBackground(this.#conversation.stop());
  };

  /**
   * Handles Ctrl-C while idle. The user must press Ctrl-C twice to leave, because the first one was
   * often meant for a run that has just ended.
   */
  readonly interrupt = (): void => {
    if (this.#ctrlC.press()) this.quit();
  };

  /** A hint that replaces the default hint of the prompt. */
  get hint(): string | undefined {
    if (this.#ctrlC.isAwaited) return 'Press Ctrl-C again to leave';
    if (this.#escape.isAwaited) return 'Press Esc again to go back to a message';
    return this.#conversation.canRetry ? 'Enter sends; in an empty prompt it retries' : undefined;
  }

  /** Handles Esc in an empty prompt while idle. The second one asks to which message to go back. */
  readonly escapeIdle = (): void => {
    if (this.#escape.press()) this.submit('/rewind');
  };

  /** Handles Up in an empty prompt: withdraws the last queued message. */
  readonly withdrawLast = (): void => this.#runInBackground(this.#conversation.withdrawLast());

  /** Sets the function that puts a withdrawn message back into the prompt. */
  onPutBack(putBack: (text: string) => void): () => void {
    this.#putBack = putBack;
    return () => {
      this.#putBack = () => {};
    };
  }

  /** Handles the keys that work everywhere. Returns true if the key was handled. */
  readonly press = (key: Key): boolean => {
    if (key.type !== 'chord' || !key.ctrl) return false;
    if (key.char === 'r') this.#toggleReasoning();
    else if (key.char === 'l') this.#options.screen.redraw();
    else if (key.char === 'z') this.#runInBackground(this.#suspendTerminal());
    else return false;
    return true;
  };

  /** Sets the function that releases the terminal while the process is suspended. */
  onSuspend(suspend: Suspend): () => void {
    const { suspendProcess, screen } = this.#options;
    if (suspendProcess === undefined) return () => {};
    this.#suspendTerminal = async () => {
      screen.size.pause();
      await suspend(suspendProcess).finally(() => screen.size.resume());
    };
    return () => {
      this.#suspendTerminal = noSuspend;
    };
  }

  #toggleReasoning(): void {
    const { display } = this;
    display.showsReasoning = !display.showsReasoning;
    const { lastThought: text } = this.state;
    if (display.showsReasoning && text !== undefined && !this.isBusy)
      this.print({ type: 'thought', text, form: 'full', tookMs: 0 });
    display.drawNow();
  }

  /** Stops the run of this process and stops following the session. */
  async close(): Promise<void> {
    this.#ctrlC.cancel();
    this.#escape.cancel();
    this.#replay?.stop();
    this.#commands.stop();
    this.dialogs.close();
    this.#questions.dismissAll();
    await this.#conversation.close();
    this.#built.setQuestionHandler(undefined);
    const { session } = this.#conversation;
    const { isStored = () => true } = this.#options;
    const isThere = (await this.log.info(session).catch(() => undefined)) !== undefined;
    if (isThere) this.print(isStored() ? resumeNotice(session) : storeDeletedNotice());
    this.display.close();
  }

  #newConversation(session: SessionId): Conversation {
    const { log, cwd, clock, env } = this.#options;
    const conversation: Conversation = new Conversation({
      ...{ log, session, cwd, clock, built: () => this.#built },
      home: env['HOME'],
      takeOutputs: () => this.#commands.takeOutputs(),
      newKey: () => this.#ids.execution(),
      print: (blocks) => this.display.print(blocks),
      onChange: () => this.display.requestDraw(),
      putBack: (text) => this.#putBack(text),
      onCallFinished: () => this.#renewPreviews(),
    });
    return conversation;
  }

  /**
   * Computes the previews of waiting calls again, because a finished call may have changed their
   * files.
   */
  #renewPreviews(): void {
    for (const approval of this.#conversation.approvals) void this.#previews.renew(approval);
  }

  #newDialogController(): DialogController {
    const remembered = new RememberedAnswers({
      built: () => this.#built,
      conversation: () => this.#conversation,
    });
    return new DialogController({
      clock: this.clock,
      approvals: () => this.#conversation.approvals,
      question: () => this.#questions.first,
      isChild: ({ agents }) => agents !== undefined,
      ...{ previews: this.#previews, otherFolder: () => this.#conversation.otherFolder },
      approve: (approval, how) => this.#conversation.approve(approval, how),
      ...{
        approveForSession: remembered.approveForSession,
        approveAlways: remembered.approveAlways,
        ruleToSave: remembered.ruleToSave,
      },
      showInFull: (dialog) => this.print({ type: 'approval', dialog }),
      deny: (approval, reason) => this.#conversation.deny(approval, reason),
      stop: this.stop,
      runInBackground: (action) => this.#runInBackground(action),
      onChange: () => this.display.drawNow(),
    });
  }

  /** Waits for an action in the background and prints its error. */
  #runInBackground(action: Promise<void>): void {
    action.catch((error: unknown) => this.#printError(error));
    this.display.requestDraw();
  }

  #printError(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.print(note('bad', `✗ ${message}`));
  }
}
