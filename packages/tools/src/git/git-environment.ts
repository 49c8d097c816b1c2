import { dirname } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/** A name and a value of the git configuration. */
export type GitSetting = readonly [name: string, value: string];

/** A program that does nothing and fails. Git runs it in place of a configured one. */
const noProgram = 'false';

/**
 * Settings that override those of a repository. Each of them keeps git from running a program,
 * using the network, or reading the configuration of another repository.
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
  // The empty value removes all helpers that were configured before.
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
  // Threads read the entries of the index at offsets of a table, which can differ from its entries.
  ['index.threads', '1'],
];

const safeVariables: Readonly<Record<string, string>> = {
  // Attributes of a repository can choose filters and diff programs of these files.
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
  // No protocol has this name. This variable overrides `protocol.<name>.allow` of a repository.
  GIT_ALLOW_PROTOCOL: 'none',
};

/** Variables that change which programs git and its libraries load, besides those named `GIT_…`. */
const isUnsafeVariable = (name: string) =>
  /^(?:GIT_|LD_|DYLD_)|^(?:PAGER|LESS|LESSOPEN|LESSCLOSE|LV|EDITOR|VISUAL|SSH_ASKPASS)$/i.test(
    name,
  );

/** Options of `gitSafetyEnv`. */
export interface GitSafetyOptions {
  /** Git searches for a repository in this folder and not above it. */
  readonly root: string;
  /**
   * Further settings, such as harmless ones of the user. They cannot override the safe ones.
   * Default: none.
   */
  readonly settings?: readonly GitSetting[] | undefined;
}

/**
 * Returns an environment in which git runs no program of a repository or a configuration file: no
 * hooks, monitors, filters, pagers, editors, diff programs, helpers, and no network. The variables
 * also reach a git that a shell line starts. All `GIT_…` variables of the given environment are
 * removed. Needs git 2.38 or later; an older git ignores some of the variables.
 *
 * The environment does not protect from filters and diff programs in `.git/config`, whose names
 * nobody knows: check the repository first.
 */
export function gitSafetyEnv(
  env: Env,
  { root, settings = [] }: GitSafetyOptions,
): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || isUnsafeVariable(name) ? [] : [[name, value] as const],
  );
  // Of several values the last one counts.
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
