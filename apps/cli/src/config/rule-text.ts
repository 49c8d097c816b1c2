import type { Approval } from '@millrace/agent';
import type { PermissionRule } from '@millrace/tools';
import { UsageError } from '../contract/errors.ts';

const pathTools: readonly string[] = ['read', 'ls', 'grep', 'glob', 'write', 'edit', '*'];
const hostTools: readonly string[] = ['web_fetch', 'web_search'];
const commandTools: readonly string[] = ['bash', 'bash+network', 'bash+outside'];

/**
 * Parses a permission rule. A rule is a tool name, `tool:pattern` with a command prefix or a path
 * glob, `tool=text` for an exact match, `web_fetch:host` or `web_search:host`.
 *
 * @example
 * ruleFromText('bash:git status', 'allow');
 * // { tool: 'bash', command: 'git status', decision: 'allow' }
 * ruleFromText('write:src/**', 'allow'); // { tool: 'write', path: 'src/**', decision: 'allow' }
 * ruleFromText('*:.env', 'deny'); // { path: '.env', decision: 'deny' }
 */
export function ruleFromText(text: string, decision: Approval): PermissionRule {
  const [, name = '', sign, what = ''] = /^([^:=]*)(?:([:=])(.*))?$/s.exec(text.trim()) ?? [];
  const tool = name.trim();
  if (tool === '' || /\s/.test(tool))
    throw invalidRule(text, 'it does not start with the name of a tool');
  const toolField = tool === '*' ? {} : { tool };
  if (sign === undefined) return { ...toolField, decision };
  if (what.trim() === '') throw invalidRule(text, `there is nothing after its ${sign}`);
  const exact = sign === '=' ? { exact: true } : {};
  if (commandTools.includes(tool))
    return { ...toolField, command: what.trim(), ...exact, decision };
  if (hostTools.includes(tool)) {
    if (sign === '=') throw invalidRule(text, 'a host follows a colon');
    return { tool, host: what.trim(), decision };
  }
  if (pathTools.includes(tool)) return { ...toolField, path: what.trim(), ...exact, decision };
  throw invalidRule(text, `${tool} supports neither a path nor a command in rules`);
}

/**
 * Formats a rule so that `ruleFromText` can parse it. The text does not contain the reason of the
 * rule.
 */
export function ruleToText({ tool, path, command, host, exact }: PermissionRule): string {
  if (host !== undefined) return `${tool ?? hostTools[0]}:${host}`;
  const sign = exact ? '=' : ':';
  if (command !== undefined) return `${tool ?? commandTools[0]}${sign}${command}`;
  return path === undefined ? (tool ?? '*') : `${tool ?? '*'}${sign}${path}`;
}

function invalidRule(text: string, why: string): UsageError {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  const way = 'Write it like "bash:git status", "write:src/**", "*:.env" or "github_search"';
  return new UsageError(`Cannot use the rule ${JSON.stringify(shown)}: ${why}. ${way}`);
}
