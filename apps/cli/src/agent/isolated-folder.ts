import { join } from 'node:path';
import type { Tool, ToolContext } from '@millrace/agent';
import {
  type BashToolOptions,
  canHaveWorktrees,
  createWorkspace,
  formsOfPaths,
  judgedPath,
  openWorktrees,
  type Workspace,
  type WorktreeReport,
} from '@millrace/tools';
import { fileCopiesFolder, worktreesFolder } from '../config/config-paths.ts';
import type { SandboxConfig } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { movedPath } from '../extensions/hooks/hook-paths.ts';
import { makeFolder } from '../make-folder.ts';
import { openSandbox } from './command-sandbox.ts';
import type { FolderDecisions, SessionPolicy } from './session-policy.ts';
import { changingTools, readingTools, withShortSchema } from './workspace-tools.ts';

/** A git worktree in which one sub-agent works, with the tools for it. */
export interface IsolatedFolder {
  readonly root: string;
  readonly reading: readonly Tool[];
  readonly changing: readonly Tool[];
  readonly decisions: FolderDecisions;
  readonly instructions: string;
  /**
   * Merges the changes into the folder of the session, if the sub-agent has finished its task. Returns a
   * report for the caller.
   */
  end(isDone: boolean): Promise<string | undefined>;
  close(): Promise<void>;
}

interface IsolateOptions {
  readonly workspace: Workspace;
  readonly env: Env | undefined;
  readonly sandbox: SandboxConfig | undefined;
  readonly executedFiles: readonly string[];
  readonly commands: Pick<BashToolOptions, 'env' | 'maskSecrets'>;
  readonly policy: SessionPolicy;
  /** Returns the instructions for a folder. */
  readonly instructionsAt: (root: string) => string;
}

/** Creates the folder for one call of the `task` tool. */
export type OpenIsolatedFolder = (context: ToolContext) => Promise<IsolatedFolder>;

/**
 * Returns a function that creates a git worktree for a sub-agent. Its commands run in a sandbox that can change
 * only the worktree, and the rules of the session apply in it. Returns undefined if the folder is in no
 * repository.
 */
export async function isolatedFolders(
  options: IsolateOptions,
): Promise<OpenIsolatedFolder | undefined> {
  const { workspace, env = {}, policy, executedFiles } = options;
  const [folder, copies] = [worktreesFolder(env), fileCopiesFolder(env)];
  if (folder === undefined || copies === undefined) return undefined;
  // Sandboxes hide this folder. A folder that is created while a command runs would not be hidden.
  makeFolder(folder);
  if (!(await canHaveWorktrees(workspace.root))) return undefined;
  const omits = (path: string) => !policy.current().mayReach('read', { path, kind: 'read' });
  const worktrees = openWorktrees({ workspace, folder, copies, env, omits });
  return async (context) => {
    const id = context.child ?? context.idempotencyKey;
    const worktree = await worktrees.open(id, context.signal);
    try {
      const { root } = worktree;
      // The scripts of hooks run in the folder of the session. Their copies are protected too, because the
      // merge would change the scripts.
      const moved = (paths: readonly string[]) =>
        // The user can name the folder of the session through a link.
        formsOfPaths(paths).map((path) => movedPath(path, workspace.root, root));
      const executed = moved(executedFiles);
      const { sandbox: given } = options;
      const hide = [...new Set([...(given?.hide ?? []), ...moved(given?.hide ?? [])])];
      const config = given && { ...given, hide };
      const protection = await openSandbox(config, undefined, executed, root);
      const { sandbox, unconfined } = protection;
      const own = unrecorded(createWorkspace({ root }));
      const place = { workspace: own, executedFiles: executed, unconfined };
      const { decisions, isApproved } = withMemory(
        policy.at({
          ...{ ...place, isConfined: sandbox !== undefined },
          isChanging: () => sandbox?.isChanging(root) === true,
        }),
      );
      // The worktree does not have the links, the ignored files and the repositories of the folder. So a file
      // can be protected here although a change in the worktree needed no approval.
      const refusalOf = async (path: string, real: string) => {
        // The user can change the mode while the sub-agent works.
        if (policy.mode() === 'plan') return 'the session is in the mode plan';
        const here = await policy.decideChange(real);
        if (here === 'deny') return 'a rule denies changes of it here';
        if (here === 'allow' || isApproved(join(root, path))) return undefined;
        return 'changes of it need an approval here, and nobody approved them in the worktree';
      };
      const commands = { ...options.commands, sandbox, reading: decisions.reading };
      return {
        root,
        reading: readingTools(own, decisions.policies).map(withShortSchema),
        changing: changingTools(own, commands).map(withShortSchema),
        decisions,
        instructions: options.instructionsAt(root),
        end: async (isDone) => {
          await sandbox?.settled();
          const report = isDone
            ? await worktree.merge(workspace.recordedBy(context), {
                refusalOf,
                signal: context.signal,
              })
            : await worktree.discard();
          return reportText(report, isDone);
        },
        close: async () => {
          worktree.release();
          await sandbox?.settled();
          sandbox?.close();
        },
      };
    } catch (error) {
      worktree.release();
      throw error;
    }
  };
}

/**
 * Returns decisions that remember which protected files a person approved to change. The merge cannot compute
 * this later, because the sub-agent can change the worktree so that any file becomes a protected file.
 */
function withMemory(given: FolderDecisions) {
  const approved = new Set<string>();
  const remembering =
    (approve: FolderDecisions['approve']): FolderDecisions['approve'] =>
    async (call, at) => {
      const ruling = await approve(call, at);
      const { decision, judged: decidedOn = '' } =
        typeof ruling === 'string' ? { decision: ruling } : { ...ruling };
      const judged = judgedPath(decidedOn);
      const isChange = at.isAnswered && decision !== 'deny' && fileTools.includes(call.name);
      // A person who approves the change of an ordinary file does not see that it is protected elsewhere.
      if (isChange && judged !== '' && (await given.decideChange(judged)) !== 'allow')
        approved.add(judged);
      return ruling;
    };
  const { approve, approveFreely } = given;
  const decisions: FolderDecisions = {
    ...given,
    approve: remembering(approve),
    approveFreely: remembering(approveFreely),
  };
  return { decisions, isApproved: (real: string) => approved.has(real) };
}

/** The tools that change one file. */
const fileTools: readonly string[] = ['write', 'edit'];

/**
 * Returns a workspace whose changes are not recorded. The merge records the changes of the session's folder. A
 * worktree is removed, so its files cannot be rewound.
 */
function unrecorded(workspace: Workspace): Workspace {
  return {
    ...workspace,
    boundTo: (judged, basis) => unrecorded(workspace.boundTo(judged, basis)),
    recordedBy: () => unrecorded(workspace),
  };
}

const maxListed = 50;

function reportText(
  { merged, conflicts, kept }: WorktreeReport,
  isDone: boolean,
): string | undefined {
  const list = (paths: readonly string[]) =>
    paths.length > maxListed
      ? [...paths.slice(0, maxListed), `… and ${paths.length - maxListed} more`]
      : paths;
  const changed =
    merged.length === 0
      ? []
      : ['Merged from the worktree of the sub-agent:', ...list(merged.map((path) => `- ${path}`))];
  if (kept === undefined)
    return changed.length > 0 ? changed.join('\n') : 'The sub-agent changed no files.';
  const why = isDone ? 'Not merged' : 'Not merged, because the sub-agent did not finish';
  const entries = conflicts.map(({ path, message }) => `- ${path}: ${message}`);
  return [
    ...changed,
    `${why}:`,
    ...list(entries),
    `Its version of these files stays in ${kept}. Here, they are unchanged. After you have used it, remove it: git worktree remove --force ${kept}`,
  ].join('\n');
}
