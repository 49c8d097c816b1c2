import { type DefinedTool, defineTool, type Tool } from '@millrace/agent';
import { type JsonValue, toolCallId } from '@millrace/core';
import { z } from 'zod';
import {
  type ApproveByPolicyOptions,
  approveByPolicy,
} from '../../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../../permissions/permission-policy.ts';
import type { PermissionRule } from '../../permissions/permission-rule.ts';
import { parseStandingRule } from '../../permissions/standing-rule.ts';
import { createWorkspace } from '../../workspace/workspace.ts';

export interface Ruling {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reason: string;
  /** The rule that a standing approval would add. */
  readonly rule: PermissionRule | undefined;
}

interface RulingOptions extends ApproveByPolicyOptions {
  readonly rules?: readonly PermissionRule[];
  readonly remembered?: readonly PermissionRule[];
  /** The called tool. Default: a tool with the name of the call that does nothing. */
  readonly tool?: Tool;
}

/** Returns the decision of a policy on a call, with the checks of the real file system. */
export async function policyRuling(
  root: string,
  [name, input]: readonly [name: string, input: JsonValue],
  { rules = [], remembered = [], tool = toolNamed(name), lasting }: RulingOptions = {},
): Promise<Ruling> {
  const workspace = createWorkspace({ root });
  const kinds = { task: 'free', read_output: 'free' } as const;
  const flags = { freeReading: true, searchesSkipDenied: true, searchesSkipAsked: true, kinds };
  const policy = permissionPolicy({ root: workspace.root, rules, remembered, ...flags });
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name } as const;
  const call = { ...part, arguments: JSON.stringify(input) };
  const approve = approveByPolicy(policy, workspace, { lasting });
  const decided = await approve({ name, call, tool, input, summary: name });
  if (typeof decided === 'string') return { decision: decided, reason: '', rule: undefined };
  const { decision, reason = '', rule } = decided;
  return { decision, reason, rule: rule === undefined ? undefined : parseStandingRule(rule)?.rule };
}

/** Returns the decision on a command. */
export async function commandRuling(
  root: string,
  command: string,
  options?: RulingOptions,
): Promise<Ruling['decision']> {
  return (await policyRuling(root, ['bash', { command }], options)).decision;
}

function toolNamed(name: string): DefinedTool<string, object> {
  return defineTool({ name, description: name, input: z.object({}), execute: async () => '' });
}
