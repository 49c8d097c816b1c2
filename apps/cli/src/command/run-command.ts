import { parseArgs } from '../args/parse-args.ts';
import type { Args } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { withStoredKeys } from '../models/key-store.ts';
import { version } from '../package-files.ts';
import { Output } from '../print/output.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { resolveArgPaths, resolveEnvPaths } from './paths.ts';
import { describeFailure } from './report-failure.ts';

/** Runs the command line and returns the exit code. It never throws. */
export async function runCommand(host: Host): Promise<number> {
  try {
    const args = resolveArgPaths(parseArgs(host.argv), host.cwd);
    const env = withStoredKeys(resolveEnvPaths(envFor(args, host.env), host.cwd));
    return await dispatch(args, { ...host, env });
  } catch (error) {
    const { text, exitCode } = describeFailure(error, host.env);
    writeText(host.stderr, text);
    return exitCode;
  }
}

/**
 * Returns the environment with the effect of `--no-color`. Some code reads only the environment.
 */
function envFor(args: Args, env: Host['env']): Host['env'] {
  if (!('color' in args) || args.color) return env;
  return { ...env, NO_COLOR: '1', FORCE_COLOR: undefined };
}

/**
 * Runs one command. Its module is loaded on demand, so a command does not load code that it does
 * not need.
 */
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
    case 'diff':
    case 'test':
    case 'eval':
    case 'sql':
    case 'verify':
    case 'report':
    case 'models':
    case 'backup':
    case 'restore':
    case 'doctor': {
      const { runSubCommand } = await import('./run-sub-command.ts');
      return runSubCommand(args, host);
    }
    case 'init': {
      const { initCommand } = await import('../first-contact/init-command.ts');
      return initCommand(args, host);
    }
    case 'plugins': {
      const { pluginsCommand } = await import('../plugins/plugins-command.ts');
      return pluginsCommand(args, host);
    }
    case 'acp': {
      const { acpCommand } = await import('../acp/acp-command.ts');
      return acpCommand(args, host);
    }
    case 'rpc': {
      const { rpcCommand } = await import('../rpc/rpc-command.ts');
      return rpcCommand(args, host);
    }
    case 'mcp': {
      const { mcpCommand } = await import('../mcp/mcp-command.ts');
      return mcpCommand(args, host);
    }
    case 'mcp-login': {
      const { mcpLoginCommand } = await import('../mcp/login-command.ts');
      return mcpLoginCommand(args, host);
    }
    case 'login':
    case 'logout': {
      const { loginCommand } = await import('../login/login-command.ts');
      return loginCommand(args, host);
    }
    case 'ps':
    case 'top': {
      const { workingCommand } = await import('../working/working-command.ts');
      return workingCommand(args, host);
    }
    case 'share': {
      const { shareCommand } = await import('../daemon/share-command.ts');
      return shareCommand(args, host);
    }
    case 'attach': {
      const { attachCommand } = await import('../daemon/attach-command.ts');
      return attachCommand(args, host);
    }
    case 'serve': {
      if (args.daemon) {
        const { daemonCommand } = await import('../daemon/daemon-command.ts');
        return daemonCommand(args, host);
      }
      const { serveCommand } = await import('../serve/serve-command.ts');
      return serveCommand(args, host);
    }
  }
}

/**
 * Prints a text. If the reader closed the pipe, this is not an error. All other failed writes are
 * errors.
 */
async function printText(stdout: Host['stdout'], text: string): Promise<number> {
  const output = new Output(stdout);
  await output.write(text);
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}
