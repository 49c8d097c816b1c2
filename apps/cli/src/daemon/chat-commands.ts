import { commandHint } from '../args/command-hint.ts';
import { parseTime } from '../args/daemon-args.ts';
import type { CommandContext, SlashCommand } from '../chat/commands/slash-command.ts';
import { note } from '../chat/contract/block.ts';
import { shortRandomId } from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';

/** Loads the code of the daemon on demand, because most chats do not use it. */
async function loadDaemon() {
  const [{ daemonFiles }, { askDaemon }, { ensureDaemon }, { createProfile }, { shareSession }] =
    await Promise.all([
      import('./daemon-files.ts'),
      import('./control-socket.ts'),
      import('./start-daemon.ts'),
      import('./session-profile.ts'),
      import('./share-session.ts'),
    ]);
  return { daemonFiles, askDaemon, ensureDaemon, createProfile, shareSession };
}

/** The conversations whose user knows that background commands end with the terminal. */
const warned = new WeakSet<object>();

export const background: SlashCommand = {
  name: '/background',
  actsOutside: true,
  description: 'Leave the run to the daemon and free the terminal; millrace attach opens it again',
  async run(context) {
    const { conversation, config, env, print, quit } = context;
    const { session, holder } = conversation;
    if (!conversation.isBusy)
      return print(note('dim', 'There is no run to leave. /quit leaves the chat.'));
    const way = commandHint(context.flags, 'attach', shortRandomId(session));
    if (holder !== undefined) {
      const returning = `To return: ${way}`;
      return quit(note('mark', `${holder} drives this session and continues. ${returning}`));
    }
    const running = (context.built.background?.list(session) ?? []).filter(
      ({ end }) => end === undefined,
    );
    if (running.length > 0 && !warned.has(conversation)) {
      warned.add(conversation);
      const names = running.map((one) => `${one.id} (${oneLine(one.command, 60)})`).join(', ');
      const way =
        'The model is told, and can start them again in the daemon. To go on: /background';
      return print(note('mark', `These commands end with this terminal: ${names}. ${way}`));
    }
    const { daemonFiles, askDaemon, ensureDaemon, createProfile } = await loadDaemon();
    const files = daemonFiles(config, env);
    await ensureDaemon(files, env);
    // From here on, the daemon continues the session as soon as no process drives it, even if this process
    // crashes now.
    const { cwd, flags, built } = context;
    const profile = createProfile({ cwd, env, flags, config, built, isHandedOver: true });
    await askDaemon(files.socket, { type: 'adopt', session, profile });
    await conversation.leave();
    const ended = await conversation.commandEnds.endAll();
    const end = 'was stopped, because the session moved to the daemon';
    await context.built.background?.reportLost(context.log, session, ended, end);
    // The daemon may have been killed meanwhile.
    await ensureDaemon(files, env);
    await askDaemon(files.socket, { type: 'resume', session });
    quit(note('mark', `⇥ It continues in the background. To return: ${way}`));
  },
};

export const share: SlashCommand = {
  name: '/share',
  actsOutside: true,
  argument: '[write] [1h]',
  description: 'Print a link to this session, and a code to scan',
  async run(context, argument) {
    const { conversation, log, print } = context;
    const { session } = conversation;
    const words = argument.split(/\s+/).filter(Boolean);
    const canWrite = words.includes('write');
    const [time = '1h', ...others] = words.filter((word) => word !== 'write');
    if (others.length > 0) throw new Error('Use /share, /share write, or /share write 4h');
    const seconds = parseTime(time, '/share');
    if ((await log.info(session)) === undefined)
      return print(note('dim', 'This session has no message yet, so there is nothing to share.'));
    const { link, code, more } = await shareThis(context, canWrite, seconds);
    print({ type: 'link', link, code }, ...more.map((line) => note('plain', line)));
  },
};

/** Stores the rights of this terminal before it creates the link, because the link may start a run. */
async function shareThis(context: CommandContext, canWrite: boolean, seconds: number) {
  const { conversation, config, env, cwd, flags, built } = context;
  const { session } = conversation;
  const { daemonFiles, askDaemon, ensureDaemon, createProfile, shareSession } = await loadDaemon();
  const files = daemonFiles(config, env);
  await ensureDaemon(files, env);
  const profile = createProfile({ cwd, env, flags, config, built, isHandedOver: false });
  await askDaemon(files.socket, { type: 'adopt', session, profile });
  return shareSession(files, env, { session, canWrite, seconds });
}
