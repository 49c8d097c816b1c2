import { spawn } from 'node:child_process';
import type { NotificationsConfig, NotificationWay } from '../contract/config.ts';
import { TerminalText } from '../text/terminal/terminal-gate.ts';

/** The current state of the session. `waiting`: it waits for an answer of the user. */
type Activity = 'idle' | 'running' | 'waiting';

const texts = { waiting: 'millrace waits for your answer', done: 'millrace is done' } as const;

/**
 * Notifies the user when a run starts to wait, or ends. A session that waits when it is opened causes no
 * notification, because the user has just opened it.
 */
export class Notifier {
  readonly #config: NotificationsConfig;
  readonly #send: (text: TerminalText) => void;
  readonly #show: (text: string) => void;
  #last: Activity = 'idle';

  /** `send` writes to the terminal. `show` shows a notification of the desktop. */
  constructor(
    config: NotificationsConfig | undefined,
    send: (text: TerminalText) => void,
    show: (text: string) => void = showOnDesktop,
    platform: NodeJS.Platform = process.platform,
  ) {
    this.#config = config ?? {};
    this.#send = send;
    // Windows has no program for this. A terminal of Windows marks its tab when the bell rings.
    this.#show = platform === 'win32' ? () => send(TerminalText.bell()) : show;
  }

  update(now: Activity): void {
    const before = this.#last;
    this.#last = now;
    const { waiting = 'bell', done = 'off' } = this.#config;
    if (now === 'waiting' && before === 'running') this.#notify(waiting, texts.waiting);
    if (now === 'idle' && before !== 'idle') this.#notify(done, texts.done);
  }

  #notify(way: NotificationWay, text: string): void {
    if (way === 'bell') this.#send(TerminalText.bell());
    if (way === 'osc9') this.#send(TerminalText.notification(text));
    if (way === 'desktop') this.#show(text);
  }
}

/** Starts the program of the system that shows a notification. Without such a program, nothing happens. */
function showOnDesktop(text: string): void {
  const isMac = process.platform === 'darwin';
  const [program, args] = isMac
    ? ['/usr/bin/osascript', ['-e', `display notification "${text}" with title "millrace"`]]
    : ['/usr/bin/notify-send', ['millrace', text]];
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
