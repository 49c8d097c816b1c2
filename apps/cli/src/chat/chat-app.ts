import type { Clock } from '@millrace/agent';
import { type Ids, randomIds, type SessionId, toolCallPart } from '@millrace/core';
import type { Log } from '@millrace/log';
import { modeTexts } from '../agent/session-mode.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { ConfigArgs } from '../contract/args.ts';
import type { Config, SessionMode } from '../contract/config.ts';
import { editInProgram } from '../input/edit-in-program.ts';
import type { HistoryEntry } from '../input/editor/editor-state.ts';
import { VimKeys } from '../input/editor/vim-keys.ts';
import type { Key } from '../input/keys/key.ts';
import { refusalToResume } from '../store/own-session.ts';
import { oneLine } from '../text/cells/printable.ts';
import { isAsciiTerminal } from '../text/terminal/ascii-terminal.ts';
import { clipboardText } from '../text/terminal/terminal-gate.ts';
import { findTheme, type Theme, themeNamed } from '../text/theme/theme.ts';
import { actsOutside, allCommands, isCommand, runSlashCommand } from './commands/command-table.ts';
import type { CommandContext } from './commands/slash-command.ts';
import { type Block, note } from './contract/block.ts';
import type { ChatState } from './contract/chat-state.ts';
import type { PickList } from './contract/dialog.ts';
import { ChangePreviews } from './dialog/change-previews.ts';
import { DialogController } from './dialog/dialog-controller.ts';
import { FormAnswers } from './dialog/form-answers.ts';
import { OpenQuestions } from './dialog/open-questions.ts';
import { askToGo } from './dialog/plan-question.ts';
import { RememberedAnswers } from './dialog/remembered-answers.ts';
import { Notifier } from './notifier.ts';
import type { BlockPrinter } from './render/printer.ts';
import type { DebouncedSize } from './screen/debounced-size.ts';
import { Display } from './screen/display.ts';
import { leaveTerminal, type Suspend } from './screen/leave-terminal.ts';
import type { ScreenOutput } from './screen/screen-output.ts';
import { ScrollBack } from './screen/scroll-back.ts';
import { SecondPress } from './second-press.ts';
import { Conversation } from './session/conversation.ts';
import { ReplaySession } from './session/replay-session.ts';
import { UserCommands } from './session/user-commands.ts';
import { lastScreenful, resumeNotice, storeDeletedNotice } from './session-notices.ts';
import { WorkPlace } from './work-place.ts';

export interface ChatAppOptions {
  /** The flags of the command line. Default: none. */
  readonly args?: ConfigArgs | undefined;
  readonly log: Log;
  readonly built: BuiltAgent;
  readonly config: Config;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly theme: Theme;
  /** Prints the blocks of the plain mode. Default: the chat draws a screen. */
  readonly plain?: BlockPrinter | undefined;
  readonly screen: Pick<ScreenOutput, 'columns' | 'rows' | 'redraw' | 'send'> & {
    readonly size: Pick<DebouncedSize, 'pause' | 'resume'>;
  };
  readonly onQuit: () => void;
  readonly ids?: Ids | undefined;
  /**
   * Returns false if the session file was deleted, so the session is lost. Default: a function that
   * always returns true.
   */
  readonly isStored?: (() => boolean) | undefined;
  /**
   * Suspends the process, as Ctrl-Z does in a shell. Resolves when the process continues. If
   * undefined, Ctrl-Z has no effect.
   */
  readonly suspendProcess?: (() => Promise<void>) | undefined;
}

/** The functions with which the chat reads and changes the text of the prompt. */
interface PromptAccess {
  /** Puts a withdrawn message back into the prompt. */
  readonly putBack: (text: string) => void;
  /** Replaces the text of the prompt. `typed` is a field of the action `set`. */
  readonly set: (text: string, typed?: number) => void;
  readonly text: () => string;
  /** Returns the texts that the user sent or cleared before, oldest first. */
  readonly history: () => readonly HistoryEntry[];
}

const noPrompt: PromptAccess = { putBack() {}, set() {}, text: () => '', history: () => [] };

const untypedText =
  '✗ The command did not run, because it acts outside of the conversation. Type it here.';

const noSuspend = () => Promise.resolve();

/**
 * The chat without its terminal. It has the current session, the open dialog and the content of the
 * display.
 */
export class ChatApp implements CommandContext {
  readonly log: Log;
  readonly cwd: string;
  readonly config: Config;
  readonly env: ChatAppOptions['env'];
  readonly clock: Clock;
  readonly flags: ConfigArgs;
  readonly dialogs: DialogController;
  readonly display: Display;
  readonly place: WorkPlace;
  readonly scrollBack: ScrollBack;
  readonly vim: VimKeys = new VimKeys(() => this.display.drawNow());
  readonly #options: ChatAppOptions;
  readonly #ids: Ids;
  readonly #questions: OpenQuestions;
  readonly #forms: FormAnswers;
  readonly #previews: ChangePreviews;
  readonly #commands: UserCommands;
  readonly #notifier: Notifier;
  #built: BuiltAgent;
  #conversation: Conversation;
  #replay: ReplaySession | undefined;
  #suspendTerminal: () => Promise<void> = noSuspend;
  #releaseTerminal: Suspend = noSuspend;
  #prompt: PromptAccess = noPrompt;
  #lastNote: Block | undefined;
  readonly #ctrlC = new SecondPress(this);
  readonly #escape = new SecondPress(this);

  constructor(options: ChatAppOptions, session: SessionId) {
    const { log, cwd, config, env, clock, theme, screen, built, plain } = options;
    this.#options = options;
    this.log = log;
    this.cwd = cwd;
    this.config = config;
    this.env = env;
    this.clock = clock;
    this.flags = options.args ?? {};
    this.#ids = options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes));
    this.#built = built;
    const isBusy = () => this.isBusy;
    const isAscii = isAsciiTerminal(env);
    this.display = new Display({ clock, theme, size: () => screen, isBusy, plain, isAscii });
    this.place = new WorkPlace({ cwd, clock, onChange: () => this.display.requestDraw() });
    if (theme.styles.strong.length > 0)
      this.display.theme = themeNamed(config.theme ?? 'auto', theme);
    this.#notifier = new Notifier(config.notifications, (text) => screen.send(text));
    this.#questions = new OpenQuestions(() => {
      this.#notify();
      this.display.requestDraw();
    });
    this.#previews = new ChangePreviews(
      async (call, judged) => this.#built.preview(call, judged),
      () => this.display.requestDraw(),
    );
    this.#commands = new UserCommands({ built: () => this.#built, print: this.print });
    this.#built.setQuestionHandler(this.#questions.ask);
    this.#forms = new FormAnswers({
      ask: this.#questions.ask,
      approve: (approval, how) => this.#conversation.approve(approval, how),
      deny: (approval, reason) => this.#conversation.deny(approval, reason),
      runInBackground: (work) => this.#runInBackground(work),
    });
    this.#conversation = this.#newConversation(session);
    this.scrollBack = new ScrollBack({
      ...{ log, display: this.display, screen, conversation: () => this.#conversation },
      onError: (error) => this.#printError(error),
    });
    this.dialogs = this.#newDialogController();
  }

  get built(): BuiltAgent {
    return this.#built;
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  /**
   * The state to show: the state of the replay during a replay, otherwise the state of the session.
   */
  get state(): ChatState {
    return this.#replay?.state ?? this.#conversation.state;
  }

  /** The current time. During a replay, it is the time in the recorded session. */
  get now(): number {
    return this.#replay?.now ?? this.clock.now();
  }

  get isBusy(): boolean {
    const { isPreparing, isBusy } = this.#conversation;
    return this.#replay !== undefined || this.#commands.isRunning || isPreparing || isBusy;
  }

  readonly print = (...blocks: readonly Block[]): void => this.display.print(blocks);
  readonly pick = (pick: PickList): void => this.dialogs.pick(pick);
  readonly newSession = (): SessionId => this.#ids.session();

  readonly quit = (lastNote?: Block): void => {
    this.#lastNote = lastNote;
    this.#options.onQuit();
  };

  readonly putBack = (text: string): void => this.#prompt.putBack(text);
  readonly setPrompt = (text: string): void => this.#prompt.set(text, 0);

  readonly setTheme = (name: string): boolean => {
    const { theme } = this.#options;
    if (theme.styles.strong.length === 0) return name === 'none' || name === 'auto';
    const chosen = findTheme(name, theme, this.#built.extensions.code?.themes);
    if (chosen === undefined) return false;
    this.display.theme = chosen;
    this.#options.screen.redraw();
    return true;
  };

  readonly copy = (text: string): void => this.#options.screen.send(clipboardText(text));

  /** Handles Ctrl-G and /editor: opens the editor of the user with the text of the prompt. */
  readonly editPrompt = async (): Promise<void> => {
    const before = this.#prompt.text();
    let after = before;
    await this.#releaseTerminal(async () => {
      after = await editInProgram(before, this.env, this.cwd);
    });
    if (after !== before) this.#prompt.set(after);
  };

  /** Handles Ctrl-R: shows the earlier messages. Typing filters them. */
  #searchHistory(): void {
    const entries = this.#prompt.history().toReversed();
    if (entries.length === 0) return this.print(note('dim', 'There is no earlier message.'));
    this.pick({
      title: 'Earlier messages.',
      items: entries.map(({ text }) => ({ label: oneLine(text, 200) })),
      onPick: async (index) => {
        const entry = entries[index];
        if (entry !== undefined) this.#prompt.set(entry.text, entry.typed ?? entry.text.length);
      },
    });
  }

  /** Opens a session and prints its last blocks. Undefined opens a new session. */
  async open(session: SessionId | undefined): Promise<void> {
    const before = this.#conversation;
    this.#conversation = this.#newConversation(session ?? this.newSession());
    await before.close();
    if (session === undefined) this.print(note('dim', 'A new session.'));
    await this.showSession();
  }

  /** Prints the last blocks of the session and resumes its unfinished work. */
  async showSession(): Promise<void> {
    const conversation = this.#conversation;
    const opened = await conversation.open();
    const { look, rows } = this.display;
    this.print(...(await lastScreenful(look, opened, { rows, chat: this })));
    await conversation.resumeInterrupted();
  }

  readonly switchModel = (chosen: ChosenModel): void => {
    this.#built = this.#built.with({ chosen });
    this.display.requestDraw();
  };

  readonly setMode = (mode: SessionMode): void => {
    this.#built.setMode(mode);
    this.display.drawNow();
  };

  /** Handles Shift-Tab: changes to the next mode. */
  #nextMode(): void {
    const { modes } = this.#built;
    if (modes.length < 2) return this.print(note('dim', modeTexts[this.#built.mode()].about));
    const next = modes[(modes.indexOf(this.#built.mode()) + 1) % modes.length];
    if (next !== undefined) this.setMode(next);
  }

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

  /** Handles Enter: runs a slash command or sends a message. `chosen` is a field of `MessageContent`. */
  readonly submit = (text: string, chosen: readonly string[] = []): void => {
    // A new message ends a replay.
    this.#replay?.stop();
    this.#runInBackground(this.#perform(text, chosen, true));
  };

  /**
   * Sends the prompt of the command line. It is never a command with `!` and none that acts outside of the
   * conversation, because a script may have put the text of another person into it.
   */
  readonly sendFirst = (text: string): void =>
    this.#runInBackground(this.#perform(text.replace(/^!/, ' !'), [text], false));

  async #perform(text: string, chosen: readonly string[], isTyped: boolean): Promise<void> {
    await this.#conversation.whole;
    // A text that starts with a space is a message, because the user did not type the `!` first.
    const command = /^!(?!!)([\s\S]+)$/.exec(text.trimEnd())?.[1]?.trim();
    const isReadOnly = this.#built.mode() === 'read-only';
    if (command !== undefined && isReadOnly)
      this.print(note('bad', '✗ It did not run, because this session is read-only (--read-only).'));
    else if (command !== undefined) await this.#commands.run(command);
    else if (!isTyped && actsOutside(text, allCommands(this))) this.print(note('bad', untypedText));
    else if (isCommand(text, allCommands(this))) await runSlashCommand(this, text, chosen);
    else await this.#conversation.send(text, { chosen });
    this.display.requestDraw();
  }

  /** Handles Alt-Enter during a run: queues a message. */
  readonly queue = (text: string, chosen: readonly string[] = []): void => {
    this.#replay?.stop();
    this.#runInBackground(this.#conversation.queue(text, { chosen }));
  };

  /** Handles Esc, or Ctrl-C during a run: stops the run or the replay. */
  readonly stop = (): void => {
    if (this.#replay !== undefined) return this.#replay.stop();
    this.#questions.dismissAll();
    this.#commands.stop();
    this.#runInBackground(this.#conversation.stop());
  };

  /**
   * Handles Ctrl-C while idle. To leave, the user must press it twice. The first press was often
   * meant for a run that has just ended.
   */
  readonly interrupt = (): void => {
    if (this.#ctrlC.press()) this.quit();
  };

  /** A hint that replaces the default hint of the prompt. */
  get hint(): string | undefined {
    if (this.#ctrlC.isAwaited) return 'Press Ctrl-C again to leave';
    if (this.#escape.isAwaited) return 'Press Esc again to go back to a message';
    if (this.#conversation.canRetry) return 'Enter sends; in an empty prompt it retries';
    return this.vim.hint;
  }

  /**
   * Handles Esc in an empty prompt while idle. The second press shows the messages to which the
   * user can go back.
   */
  readonly escapeIdle = (): void => {
    if (this.#escape.press()) this.submit('/rewind');
  };

  /** Handles Up in an empty prompt: withdraws the last queued message. */
  readonly withdrawLast = (): void => this.#runInBackground(this.#conversation.withdrawLast());

  /** Connects the prompt to the chat. */
  onPrompt(prompt: PromptAccess): () => void {
    this.#prompt = prompt;
    return () => {
      this.#prompt = noPrompt;
    };
  }

  /** Handles keys that work everywhere in the chat. Returns true if the key was handled. */
  readonly press = (key: Key): boolean => {
    if (this.dialogs.list === undefined && this.scrollBack.press(key)) return true;
    const isShiftTab = key.type === 'key' && key.name === 'tab' && key.shift;
    if (isShiftTab && this.dialogs.list === undefined) {
      this.#nextMode();
      return true;
    }
    if (key.type !== 'chord' || !key.ctrl) return false;
    const isFree = this.dialogs.list === undefined;
    if (key.char === 't') this.#toggleReasoning();
    else if (key.char === 'r' && isFree) this.#searchHistory();
    else if (key.char === 'g' && isFree) this.#runInBackground(this.editPrompt());
    else if (key.char === 'l') this.#options.screen.redraw();
    else if (key.char === 'z') this.#runInBackground(this.#suspendTerminal());
    else return false;
    return true;
  };

  /** Sets the function that releases the terminal while the process is suspended. */
  onSuspend(suspend: Suspend): () => void {
    const { suspendProcess, screen } = this.#options;
    this.#releaseTerminal = (work) => leaveTerminal(this, screen.size, { suspend, work });
    if (suspendProcess !== undefined)
      this.#suspendTerminal = () => this.#releaseTerminal(suspendProcess);
    return () => {
      this.#suspendTerminal = noSuspend;
      this.#releaseTerminal = noSuspend;
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

  /** Stops the run of this process, and stops following the session. */
  async close(): Promise<void> {
    for (const press of [this.#ctrlC, this.#escape]) press.cancel();
    this.scrollBack.close();
    this.#replay?.stop();
    this.#commands.stop();
    this.dialogs.close();
    this.#questions.dismissAll();
    await this.#conversation.close();
    this.#built.setQuestionHandler(undefined);
    const { session } = this.#conversation;
    const { isStored = () => true } = this.#options;
    const isThere = (await this.log.info(session).catch(() => undefined)) !== undefined;
    const howToReturn = this.#lastNote ?? resumeNotice(session, this.flags);
    if (isThere) this.print(isStored() ? howToReturn : storeDeletedNotice());
    this.display.close();
  }

  #newConversation(session: SessionId): Conversation {
    const { log, cwd, clock, env } = this.#options;
    const conversation: Conversation = new Conversation({
      ...{ log, session, cwd, clock, built: () => this.#built, start: 'recent' },
      home: env['HOME'],
      takeOutputs: () => this.#commands.takeOutputs(),
      newKey: () => this.#ids.execution(),
      print: (blocks) => this.display.print(blocks),
      onChange: () => {
        this.#forms.update(conversation.approvals);
        this.#notify();
        this.display.requestDraw();
      },
      putBack: (text) => this.#prompt.putBack(text),
      onCallFinished: () => this.#renewPreviews(),
      onRunEnded: (result) => this.#runInBackground(askToGo(result, this, this.#questions.ask)),
      findRefusal: () => refusalToResume(log, session, this),
    });
    return conversation;
  }

  #notify(): void {
    const { approvals, isBusy } = this.#conversation;
    const isWaiting = approvals.length > 0 || this.#questions.first !== undefined;
    this.#notifier.update(isWaiting ? 'waiting' : isBusy ? 'running' : 'idle');
  }

  /**
   * Computes the previews of waiting calls again, because a finished call may have changed the
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
      approvals: () => this.#conversation.approvals.filter(({ form }) => form === undefined),
      question: () => this.#questions.first,
      isChild: ({ agents }) => agents !== undefined,
      isNumbered: this.#options.plain !== undefined,
      ...{ previews: this.#previews, otherFolder: () => this.#conversation.otherFolder },
      root: () => this.#built.policy().root,
      reasonToAsk: async ({ id, name, input = null }) =>
        this.#built.reasonToAsk?.(toolCallPart(id, name, input)),
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
