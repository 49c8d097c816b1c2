export {
  type AskUserInput,
  type AskUserOptions,
  askUserTool,
  type UserAnswer,
  type UserQuestion,
} from './ask-user/ask-user-tool.ts';
export {
  type PreparedCommand,
  type Sandbox,
  SandboxError,
  type SandboxErrorCode,
  type SandboxLimits,
  type SandboxOptions,
  type SandboxProblem,
  type SandboxProfile,
  type SandboxRequest,
  type SandboxSearch,
  type TestedSandbox,
} from './contract/sandbox.ts';
export { WorkspaceError, type WorkspaceErrorCode } from './contract/workspace-error.ts';
export {
  type ExtensionToolOptions,
  extensionTool,
  isReservedToolName,
} from './extension/extension-tool.ts';
export type { Edit } from './files/apply-edits.ts';
export { type EditInput, editTool } from './files/edit-tool.ts';
export { type FileKind, fileKind } from './files/file-kind.ts';
export { type LsInput, lsTool } from './files/ls-tool.ts';
export { applyPatchTool } from './files/patch-tool.ts';
export { type ChangePreview, previewChange } from './files/preview-change.ts';
export { type ReadInput, readTool } from './files/read-tool.ts';
export { type UnifiedDiff, unifiedDiff } from './files/unified-diff.ts';
export { type WriteInput, writeTool } from './files/write-tool.ts';
export {
  type GitSafetyOptions,
  type GitSetting,
  gitSafetyEnv,
} from './git/git-environment.ts';
export { readGitBranch } from './git/read-branch.ts';
export { type GitResult, type RunGitOptions, runGit } from './git/run-git.ts';
export {
  type ApproveInModeOptions,
  approveInMode,
  namesProtected,
  type PermissionMode,
} from './modes/approve-in-mode.ts';
export {
  type ApproveByPolicyOptions,
  approveByPolicy,
  decideChange,
} from './permissions/approve-by-policy.ts';
export type { PolicyCall, PolicyDecision } from './permissions/decide.ts';
export { movedRules } from './permissions/moved-rules.ts';
export {
  type PermissionPolicy,
  type PolicyData,
  permissionPolicy,
} from './permissions/permission-policy.ts';
export type { PermissionRule } from './permissions/permission-rule.ts';
export type { AskedPath } from './permissions/read-only/asked-paths.ts';
export { judgedPath } from './permissions/repository-protection.ts';
export {
  isLauncher,
  type SplitCommand,
  splitCommand,
  type Word,
} from './permissions/split-command.ts';
export { parseStandingRule, type StandingRule } from './permissions/standing-rule.ts';
export type { FetchKind, ToolKind } from './permissions/tool-kinds.ts';
export { applyFilePlan } from './rewind/apply-file-plan.ts';
export {
  type CommandFiles,
  type CommandFilesOptions,
  commandFiles,
} from './rewind/command-files.ts';
export { type FileChangeOnLog, readFileChanges } from './rewind/file-changes.ts';
export {
  type FileConflict,
  type FileMove,
  type FilePlan,
  type FileStep,
  planFileChanges,
} from './rewind/plan-file-changes.ts';
export { approveInSandbox, approveUnconfined } from './sandbox/approve-in-sandbox.ts';
export { findSandbox } from './sandbox/find-sandbox.ts';
export { type MorePermission, sandboxRuleNames } from './sandbox/more-permissions.ts';
export {
  type CallPlace,
  callKey,
  confinementOf,
  type ReadingPlace,
  type UnaskedReading,
  unaskedReading,
} from './sandbox/unasked-reading.ts';
export { type GlobInput, globTool } from './search/glob-tool.ts';
export { type GrepInput, grepTool } from './search/grep-tool.ts';
export type { SearchToolOptions } from './search/search-options.ts';
export {
  type BackgroundCommand,
  type BackgroundCommands,
  type BackgroundCommandsOptions,
  backgroundCommands,
  type EndedCommand,
  type ReservedPlace,
  type StartedCommand,
  stoppedByUser,
} from './shell/background/background-commands.ts';
export {
  describesCommand,
  endedCommand,
  type LoggedCommand,
} from './shell/background/commands-on-log.ts';
export type { LiveOutput, OutputSlice } from './shell/background/live-output.ts';
export { type BashInput, type BashToolOptions, bashTool } from './shell/bash-tool.ts';
export { type SecretMask, secretMasks } from './shell/mask-secrets.ts';
export { endCommandsNow, pauseCommandsNow, reportAtExit } from './shell/process-session.ts';
export { type ShellEnv, safeEnv } from './shell/safe-env.ts';
export {
  type StartedProgram,
  type StartPreparedOptions,
  startPrepared,
} from './shell/start-prepared.ts';
export {
  type IsolatedAgent,
  type OfferedAgent,
  type SubAgentsInput,
  type SubAgentsToolOptions,
  subAgentsTool,
} from './sub-agents/sub-agents-tool.ts';
export { keepGoal } from './todo/keep-goal.ts';
export {
  openTasks,
  readTodo,
  type TodoInput,
  type TodoState,
  type TodoTask,
  todoTool,
} from './todo/todo-tool.ts';
export {
  type SearchResult,
  type SearchService,
  type SearchServiceInfo,
  searchServices,
} from './web/search-services.ts';
export {
  type WebFetchInput,
  type WebFetchToolOptions,
  webFetchTool,
} from './web/web-fetch-tool.ts';
export {
  type WebSearchInput,
  type WebSearchToolOptions,
  webSearchTool,
} from './web/web-search-tool.ts';
export type { FolderEntry, FolderListing } from './workspace/list-folder.ts';
export type { OpenBuffers } from './workspace/open-buffers.ts';
export type { FileContent, FileVersion, OpenFile } from './workspace/open-file.ts';
export { formsOfPaths } from './workspace/real-form.ts';
export type { ChangeLog } from './workspace/record-change.ts';
export type { ResolvedPath, ResolveOptions } from './workspace/resolve-path.ts';
export {
  type ChangeOptions,
  createWorkspace,
  type FileBefore,
  type FileChange,
  type Workspace,
  type WorkspaceOptions,
} from './workspace/workspace.ts';
export type { WriteOptions, WriteResult } from './workspace/write-file.ts';
export type { MergeConflict, MergeOptions, MergeReport } from './worktree/merge-folder.ts';
export {
  canHaveWorktrees,
  openWorktrees,
  type Worktree,
  type WorktreeMergeOptions,
  type WorktreeReport,
  type Worktrees,
  type WorktreesOptions,
} from './worktree/worktrees.ts';
