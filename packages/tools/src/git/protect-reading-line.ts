import {
  parseReadOnlyCommand,
  type ReadOnlyCommand,
} from '../permissions/read-only/read-only-command.ts';
import { searchPathForReading } from '../permissions/read-only/read-only-risk.ts';
import { splitCommand } from '../permissions/split-command.ts';
import { gitSafetyEnv } from './git-environment.ts';
import { findProgram, userGitSettings } from './run-git.ts';

type Env = Readonly<Record<string, string>>;

/**
 * Returns the environment for a command line. A policy may have allowed a line that only reads without asking the
 * user, so its programs do not find programs of the project, and git gets the protection of `gitSafetyEnv`. All other
 * lines get the given environment. For example, a commit needs the hooks and the configuration of the user.
 */
export async function protectReadingLine(line: string, env: Env, root: string): Promise<Env> {
  const commands = readOnlyCommands(line);
  if (commands === undefined) return env;
  const programs = new Set(commands.map((command) => command.program));
  const searchPath = await searchPathForReading([...programs], root, env['PATH']);
  const closed = searchPath === undefined ? env : { ...env, PATH: searchPath };
  if (!programs.has('git')) return closed;
  const program = await findProgram('git', root, env['PATH']);
  const settings =
    program === undefined ? [] : await userGitSettings(program, root, { cwd: root, env });
  return gitSafetyEnv(closed, { root, settings });
}

/** Returns the commands of a line that only reads. Returns undefined for all other lines. */
function readOnlyCommands(line: string): readonly ReadOnlyCommand[] | undefined {
  const { parts, unsupportedSyntax } = splitCommand(line);
  if (unsupportedSyntax !== undefined) return undefined;
  const commands = parts.flatMap((words) => parseReadOnlyCommand(words) ?? []);
  return commands.length === parts.length ? commands : undefined;
}
