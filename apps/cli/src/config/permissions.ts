import type { Approval } from '@millrace/agent';
import { isMillraceError } from '@millrace/core';
import type { PermissionRule } from '@millrace/tools';
import type { ConfigArgs } from '../contract/args.ts';
import type { PermissionsConfig } from '../contract/config.ts';
import { ConfigError, UsageError } from '../contract/errors.ts';
import type { Layer, Layers } from './config-layers.ts';
import type { FolderDecisions } from './folders-file.ts';
import { errorAt } from './json-file.ts';
import { ruleFromText } from './rule-text.ts';

/**
 * Merges the permission rules of the files, of the stored decisions and of the flags, in this
 * order. The mode adds its own rules when the agent is built, because it can change later.
 */
export async function mergePermissions(
  { layers, decisions, foldersFile }: Pick<Layers, 'layers' | 'decisions' | 'foldersFile'>,
  { permissions, rules: flagRules = [] }: ConfigArgs,
): Promise<PermissionsConfig> {
  const modes = layers.map(({ settings }) => settings.permissions?.mode);
  const mode = permissions ?? modes.findLast((each) => each !== undefined) ?? 'ask';
  const ofFiles = await Promise.all(layers.map(readFileRules));
  const remembered = rememberedRules(decisions, foldersFile);
  for (const rule of flagRules) await checkRule(rule).catch(rethrowAsUsage);
  return { mode, rules: [...ofFiles.flat(), ...remembered, ...flagRules] };
}

/**
 * Adds rules that deny access to the given paths for all tools. A path is a file, or a folder with all its
 * content. At these paths, this program stores its sessions and the token of its server. The rules apply even
 * if the paths are in the folder of the project.
 */
export function denyOwnPaths(
  { mode, rules }: PermissionsConfig,
  paths: readonly string[],
): PermissionsConfig {
  // In a rule, these characters are wildcards. `?` matches each of them.
  const globs = paths.map((path) => path.replace(/[*?[\]{}!\\]/g, '?'));
  const own = globs.flatMap((glob) => [glob, `${glob}/**`]);
  const denials = own.map((path) => ({ tool: '*', path, decision: 'deny' }) as const);
  return { mode, rules: [...rules, ...denials] };
}

function rememberedRules(
  { allow = [], deny = [] }: FolderDecisions,
  file = '',
): readonly PermissionRule[] {
  try {
    return [
      ...allow.map((text) => asWeakRule(ruleFromText(text, 'allow'))),
      ...deny.map((text) => ruleFromText(text, 'deny')),
    ];
  } catch (error) {
    throw isMillraceError(error) ? errorInFile(file, error) : error;
  }
}

/**
 * Marks a rule that the user allowed in the chat as weak. A weak rule does not override a rule in a
 * file.
 */
function asWeakRule(rule: PermissionRule): PermissionRule {
  const { path, command, exact = false } = rule;
  return exact || (path === undefined && command === undefined) ? rule : { ...rule, yields: true };
}

function errorInFile(path: string, cause: Error): ConfigError {
  return new ConfigError(`${path}: ${cause.message}`, { path }, { cause });
}

function rethrowAsUsage(error: unknown): never {
  if (!isMillraceError(error)) throw error;
  throw new UsageError(`${error.message}. Change --allow or --deny`, {}, { cause: error });
}

// The last matching rule decides. So `ask` comes after `allow`, and `deny` is last.
const decisionOrder: readonly Approval[] = ['allow', 'ask', 'deny'];

/** Reads and validates the permission rules of a file. */
async function readFileRules({ file, settings }: Layer): Promise<readonly PermissionRule[]> {
  const { permissions = {} } = settings;
  const texts = decisionOrder.flatMap((decision) =>
    (permissions[decision] ?? []).map((text, index) => ({ decision, text, index })),
  );
  const rules: PermissionRule[] = [];
  for (const { decision, text, index } of texts) {
    try {
      const rule = ruleFromText(text, decision);
      await checkRule(rule);
      rules.push(rule);
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      throw errorAt(
        file,
        ['permissions', decision, index],
        `is not a valid rule. ${error.message}`,
        error,
      );
    }
  }
  return rules;
}

/**
 * Throws if a rule is invalid. To check this, it creates a policy. The module is loaded only if
 * there is a rule.
 */
async function checkRule(rule: PermissionRule): Promise<void> {
  const { permissionPolicy } = await import('@millrace/tools');
  permissionPolicy({ root: '/', rules: [rule] });
}
