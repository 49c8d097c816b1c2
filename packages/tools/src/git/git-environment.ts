import { dirname } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/** A name and a value of the git configuration. */
export type GitSetting = readonly [name: string, value: string];

/** A program that always fails without doing anything. Git runs it instead of a configured program. */
const noProgram = 'false';

/**
 * The settings that override the settings of a repository. Each of them prevents git from running a program,
 * using the network, or reading the configuration of a different repository.
 */
const safeSettings: readonly GitSetting[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', noProgram],
  ['sequence.editor', noProgram],
  ['core.sshCommand', noProgram],
  ['core.gitProxy', noProgram],
  ['core.askPass', noProgram],
  ['core.alternateRefsCommand', noProgram],
  ['core.attributesFile', '/dev/null'],
  // The empty value removes all previously configured helpers.
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['gpg.program', noProgram],
  ['gpg.ssh.program', noProgram],
  ['gpg.x509.program', noProgram],
  ['log.showSignature', 'false'],
  ['interactive.diffFilter', ''],
  ['safe.bareRepository', 'explicit'],
  ['submodule.recurse', 'false'],
  ['status.submoduleSummary', 'false'],
  ['diff.submodule', 'short'],
  ['diff.ignoreSubmodules', 'all'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // With several threads, git reads the index entries at the offsets in a table. A manipulated table can
  // point to wrong entries.
  ['index.threads', '1'],
];

const safeVariables: Readonly<Record<string, string>> = {
  // These files can configure filters and diff programs, which the attributes of a repository can select.
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  GIT_EDITOR: noProgram,
  GIT_SEQUENCE_EDITOR: noProgram,
  GIT_SSH_COMMAND: noProgram,
  GIT_ASKPASS: noProgram,
  // Git allows only the protocol `none`, which does not exist. This variable overrides
  // `protocol.<name>.allow` of a repository.
  GIT_ALLOW_PROTOCOL: 'none',
};

/** True for variables that change which programs git and its libraries load. */
const isUnsafeVariable = (name: string) =>
  /^(?:GIT_|LD_|DYLD_)|^(?:PAGER|LESS|LESSOPEN|LESSCLOSE|LV|EDITOR|VISUAL|SSH_ASKPASS)$/i.test(
    name,
  );

/** Options of `gitSafetyEnv`. */
export interface GitSafetyOptions {
  /** The highest folder in which git searches for a repository. */
  readonly root: string;
  /**
   * More settings, such as harmless settings of the user. They cannot override the safe settings. Default:
   * none.
   */
  readonly settings?: readonly GitSetting[] | undefined;
}

/**
 * Returns an environment in which git runs no program of a repository or a configuration file. It prevents
 * hooks, monitors, filters, pagers, editors, diff programs, helpers and the network. The variables also apply
 * to git commands that a shell line starts. All `GIT_…` variables of the given environment are removed. It
 * needs git 2.38 or later, because an older git ignores some of the variables.
 *
 * The environment does not protect against filters and diff programs in `.git/config`, because their names
 * are unknown. Check the repository first.
 */
export function gitSafetyEnv(
  env: Env,
  { root, settings = [] }: GitSafetyOptions,
): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || isUnsafeVariable(name) ? [] : [[name, value] as const],
  );
  // If a setting has several values, git uses the last value.
  const all = [...settings, ...safeSettings];
  const pairs = all.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name] as const,
    [`GIT_CONFIG_VALUE_${index}`, value] as const,
  ]);
  return {
    ...Object.fromEntries(kept),
    ...safeVariables,
    GIT_CEILING_DIRECTORIES: dirname(root),
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(pairs),
  };
}
