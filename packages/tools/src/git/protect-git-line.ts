import { parseReadOnlyCommand } from '../permissions/read-only/read-only-command.ts';
import { splitCommand } from '../permissions/split-command.ts';
import { gitSafetyEnv } from './git-environment.ts';
import { findProgram, userGitSettings } from './run-git.ts';

/**
 * Returns the environment for a command line. A line that runs git and only reads gets the protection of
 * `gitSafetyEnv`, because a policy may have allowed it without asking the user. All other lines get the given
 * environment. For example, a commit needs the hooks and the configuration of the user.
 */
export async function protectGitLine(
  line: string,
  env: Readonly<Record<string, string>>,
  root: string,
): Promise<Readonly<Record<string, string>>> {
  if (!onlyReadsWithGit(line)) return env;
  const program = await findProgram('git', root, env['PATH']);
  const settings =
    program === undefined ? [] : await userGitSettings(program, root, { cwd: root, env });
  return gitSafetyEnv(env, { root, settings });
}

function onlyReadsWithGit(line: string): boolean {
  const { parts, unsupportedSyntax } = splitCommand(line);
  if (unsupportedSyntax !== undefined) return false;
  const commands = parts.map(parseReadOnlyCommand);
  return commands.every((one) => one !== undefined) && commands.some((one) => one?.isGit);
}
