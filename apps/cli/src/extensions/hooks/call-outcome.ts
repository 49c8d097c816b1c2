import type { ApprovalDecision } from '@millrace/agent';
import { judgedPath } from '@millrace/tools';
import type { HookOutcome } from '../hook-runner.ts';
import { realPathOf } from '../tool-names.ts';

/** The decisions of the hooks about a call. */
export interface CallOutcome extends HookOutcome {
  /** The real path that the hooks got, if the call has a path. */
  readonly real?: string | undefined;
}

/**
 * Denies a call if the decision of the policy is about a different file than the hooks got. A link of the path can
 * change between the two. The tool works only on the file of the decision.
 */
export async function onSameFile(
  deciding: Promise<ApprovalDecision>,
  hooks: Promise<CallOutcome>,
): Promise<ApprovalDecision> {
  const [ruling, { real }] = await Promise.all([deciding, hooks]);
  if (typeof ruling === 'string' || ruling.decision === 'deny') return ruling;
  const { judged } = ruling as { readonly judged?: string };
  const path = judgedPath(judged ?? '');
  const isSame = real === undefined || path === '' || realPathOf(path) === real;
  return isSame ? ruling : { decision: 'deny', reason: otherFile };
}

const otherFile =
  'A link of the path has changed, so the hooks checked a different file. Nothing was done. Make the call again';
