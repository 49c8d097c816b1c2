import type { Clock } from '@millrace/agent';
import { type Ids, randomIds, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, Chosen } from '../contract/agent.ts';
import type { Config } from '../contract/config.ts';
import type { Key } from '../input/keys/key.ts';
import type { Theme } from '../text/theme/theme.ts';
import { isCommand, runSlashCommand } from './commands/command-table.ts';
import type { CommandContext } from './commands/slash-command.ts';
import { type Block, note } from './contract/block.ts';
import type { ChatState } from './contract/chat-state.ts';
import type { PickList } from './contract/dialog.ts';
import { Previews } from './dialog/change-previews.ts';
import { Asking } from './dialog/dialog-controller.ts';
import { Questions } from './dialog/open-questions.ts';
import { LastingAnswers } from './dialog/remembered-answers.ts';
import type { SteadySize } from './screen/debounced-size.ts';
import { Display } from './screen/display.ts';
import type { ScreenOutput } from './screen/screen-output.ts';
import { Conversation } from './session/conversation.ts';
import { ReplaySession } from './session/replay-session.ts';
import { goodbye, lastScreenful, lost } from './session-notices.ts';

interface ChatAppOptions {
  readonly log: Log;
  readonly built: BuiltAgent;
  readonly config: Config;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly theme: Theme;
  readonly screen: Pick<ScreenOutput, 'columns' | 'rows' | 'redraw'> & {
    readonly size: Pick<SteadySize, 'pause' | 'begin'>;
  };
  readonly onQuit: () => void;
  readonly ids?: Ids | undefined;
  /** False where what was said is not kept: the sessions' file was deleted meanwhile. */
  readonly isKept?: (() => boolean) | undefined;
  /** Stops the process as Ctrl-Z does in a shell, until it goes on; without it, Ctrl-Z does nothing. */
  readonly suspension?: (() => Promise<void>) | undefined;
}

/** For so long a second Ctrl-C is the second one. */
const againMs = 2000;

type Suspend = (callback: () => Promise<void>) => Promise<void>;

const noSuspend = () => Promise.resolve();

/** The chat without its terminal: what is said and asked in it, and what is to be seen of that. */
export class ChatApp implements CommandContext {
  readonly log: Log;
  readonly cwd: string;
  readonly config: Config;
  readonly env: ChatAppOptions['env'];
  readonly clock: Clock;
  readonly asking: Asking;
  readonly display: Display;
  readonly #options: ChatAppOptions;
  readonly #ids: Ids;
  readonly #questions: Questions;
  readonly #previews: Previews;
  #built: BuiltAgent;
  #conversation: Conversation;
  #replay: ReplaySession | undefined;
  #suspend: () => Promise<void> = noSuspend;
  #putBack: (text: string) => void = () => {};
  #cancelLeaving: (() => void) | undefined;

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
    this.#questions = new Questions(() => this.display.changed());
    this.#previews = new Previews(
      (call) => this.#built.preview(call),
      () => this.display.changed(),
    );
    this.#built.answerBy(this.#questions.ask);
    this.#conversation = this.#newConversation(session);
    this.asking = this.#newAsking();
  }

  get built(): BuiltAgent {
    return this.#built;
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  /** What is shown: of the session or, while that is streamed once more, of then. */
  get state(): ChatState {
    return this.#replay?.state ?? this.#conversation.state;
  }

  /** What time it is, or was then. */
  get now(): number {
    return this.#replay?.now ?? this.clock.now();
  }

  get isBusy(): boolean {
    return this.#replay !== undefined || this.#conversation.isBusy;
  }

  readonly print = (...blocks: readonly Block[]): void => this.display.print(blocks);

  readonly pick = (pick: PickList): void => this.asking.pick(pick);

  readonly newSession = (): SessionId => this.#ids.session();

  readonly quit = (): void => this.#options.onQuit();

  /** Goes to a session, which may be new, and shows the last of it. */
  async open(session: SessionId | undefined): Promise<void> {
    const before = this.#conversation;
    this.#conversation = this.#newConversation(session ?? this.newSession());
    await before.close();
    if (session === undefined) this.print(note('dim', 'A new session.'));
    await this.begin();
  }

  /** Shows what there is of the session, and goes on with it. */
  async begin(): Promise<void> {
    const conversation = this.#conversation;
    const { blocks, count: total } = await conversation.open();
    const { look, rows } = this.display;
    const { session } = conversation;
    this.print(...lastScreenful(look, blocks, { total, rows, session }));
    await conversation.goOn();
  }

  readonly use = (chosen: Chosen): void => {
    this.#built = this.#built.with({ chosen });
    this.display.changed();
  };

  readonly replay = (speed: number): void => {
    const { log, clock, display } = this;
    const { session } = this.#conversation;
    const print = (blocks: readonly Block[]) => display.print(blocks);
    const onChange = () => display.changed();
    const replay = new ReplaySession({ log, session, clock, speed, print, onChange });
    this.#replay = replay;
    this.print(note('mark', `▶ once more, ${speed} times as fast. Esc stops it.`));
    replay
      .play()
      .then((end) => this.print(note('mark', end === 'done' ? '■ that was all' : '■ stopped')))
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#replay = undefined;
        display.changed();
      });
  };

  /** Enter. */
  readonly submit = (text: string): void => {
    // Whoever says something has seen enough.
    this.#replay?.stop();
    this.#do(isCommand(text) ? runSlashCommand(this, text) : this.#conversation.send(text));
  };

  /** Alt-Enter, while something goes on. */
  readonly queue = (text: string): void => {
    this.#replay?.stop();
    this.#do(this.#conversation.queue(text));
  };

  /** Esc or Ctrl-C, while something goes on. */
  readonly stop = (): void => {
    if (this.#replay !== undefined) return this.#replay.stop();
    this.#questions.dismissAll();
    this.#do(this.#conversation.stop());
  };

  /** Ctrl-C while nothing goes on: mostly it was meant for what has just ended. */
  readonly interrupt = (): void => {
    if (this.#cancelLeaving !== undefined) return this.quit();
    this.#cancelLeaving = this.clock.after(againMs, () => {
      this.#cancelLeaving = undefined;
      this.display.drawNow();
    });
    this.display.drawNow();
  };

  /** What there is to say in the place of the prompt's hint. */
  get hint(): string | undefined {
    if (this.#cancelLeaving !== undefined) return 'Ctrl-C again leaves';
    return this.#conversation.canRetry
      ? 'Enter sends; alone, it tries again what failed'
      : undefined;
  }

  /** Up in an empty prompt, where something waits. */
  readonly takeBack = (): void => this.#do(this.#conversation.takeBack());

  /** Where what was not said after all goes. */
  putBackBy(putBack: (text: string) => void): () => void {
    this.#putBack = putBack;
    return () => {
      this.#putBack = () => {};
    };
  }

  /** Keys that mean the same wherever one is. */
  readonly press = (key: Key): boolean => {
    if (key.type !== 'chord' || !key.ctrl) return false;
    if (key.char === 'r') this.#unfold();
    else if (key.char === 'l') this.#options.screen.redraw();
    else if (key.char === 'z') this.#do(this.#suspend());
    else return false;
    return true;
  };

  /** How the terminal is given back for a while. */
  suspendBy(suspend: Suspend): () => void {
    const { suspension, screen } = this.#options;
    if (suspension === undefined) return () => {};
    this.#suspend = async () => {
      screen.size.pause();
      await suspend(suspension).finally(() => screen.size.begin());
    };
    return () => {
      this.#suspend = noSuspend;
    };
  }

  #unfold(): void {
    const { display } = this;
    display.isUnfolded = !display.isUnfolded;
    const { lastThought: text } = this.state;
    if (display.isUnfolded && text !== undefined && !this.isBusy)
      this.print({ type: 'thought', text, form: 'full', tookMs: 0 });
    display.drawNow();
  }

  /** Stops what this process drives, and lets go of the rest. */
  async close(): Promise<void> {
    this.#cancelLeaving?.();
    this.#replay?.stop();
    this.#questions.dismissAll();
    await this.#conversation.close();
    this.#built.answerBy(undefined);
    const { session } = this.#conversation;
    const { isKept = () => true } = this.#options;
    const isThere = (await this.log.info(session).catch(() => undefined)) !== undefined;
    if (isThere) this.print(isKept() ? goodbye(session) : lost());
    this.display.end();
  }

  #newConversation(session: SessionId): Conversation {
    const { log, cwd, clock } = this.#options;
    const conversation: Conversation = new Conversation({
      ...{ log, session, cwd, clock, built: () => this.#built },
      newKey: () => this.#ids.execution(),
      print: (blocks) => this.display.print(blocks),
      onChange: () => this.display.changed(),
      putBack: (text) => this.#putBack(text),
    });
    return conversation;
  }

  #newAsking(): Asking {
    const lasting = new LastingAnswers({
      built: () => this.#built,
      conversation: () => this.#conversation,
    });
    return new Asking({
      clock: this.clock,
      approvals: () => this.#conversation.approvals,
      question: () => this.#questions.first,
      isChild: ({ session }) => session !== this.#conversation.session,
      preview: this.#previews.of,
      approve: (approval, how) => this.#conversation.approve(approval, how),
      ...{ forSession: lasting.forSession, always: lasting.always },
      show: (ask) => this.print({ type: 'asked', ask }),
      deny: (approval, reason) => this.#conversation.deny(approval, reason),
      stop: this.stop,
      do: (work) => this.#do(work),
      onChange: () => this.display.drawNow(),
    });
  }

  /** What was asked for goes on by itself; what goes wrong with it is told. */
  #do(work: Promise<void>): void {
    work.catch((error: unknown) => this.#tell(error));
    this.display.changed();
  }

  #tell(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.print(note('bad', `✗ ${message}`));
  }
}
