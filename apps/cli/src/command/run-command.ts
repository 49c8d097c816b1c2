import type { Args } from '../args/args.ts';
import { parseArgs } from '../args/parse-args.ts';
import { version } from '../version.ts';
import type { Host } from './host.ts';
import { printText } from './print-text.ts';
import { failureOf } from './report-failure.ts';
import { withTypedEnv, withTypedPaths } from './typed-paths.ts';

/** Does what the command line asks for, and says how it ended. It does not throw. */
export async function runCommand(host: Host): Promise<number> {
  try {
    const args = withTypedPaths(parseArgs(host.argv), host.cwd);
    const env = withTypedEnv(envFor(args, host.env), host.cwd);
    return await dispatch(args, { ...host, env });
  } catch (error) {
    const { text, exitCode } = failureOf(error, host.env);
    host.stderr.write(text);
    return exitCode;
  }
}

/** `--no-color` holds for everything that looks at the environment for it. */
function envFor(args: Args, env: Host['env']): Host['env'] {
  if (!('color' in args) || args.color) return env;
  return { ...env, NO_COLOR: '1', FORCE_COLOR: undefined };
}

/** Each is loaded when it is asked for: nothing waits for what it does not need. */
async function dispatch(args: Args, host: Host): Promise<number> {
  switch (args.command) {
    case 'version':
      return printText(host.stdout, `${version()}\n`);
    case 'help': {
      const { helpText } = await import('../args/help-text.ts');
      return printText(host.stdout, helpText(args.topic));
    }
    case 'chat':
    case 'print': {
      const { runAgent } = await import('./run-agent.ts');
      return runAgent(args, host);
    }
    case 'sessions':
    case 'replay':
    case 'inspect':
    case 'doctor': {
      const { runSubCommand } = await import('./run-sub-command.ts');
      return runSubCommand(args, host);
    }
    case 'serve': {
      const { serveCommand } = await import('../serve/serve-command.ts');
      return serveCommand(args, host);
    }
  }
}
