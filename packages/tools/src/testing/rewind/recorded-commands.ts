import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { call } from '../../../../agent/src/testing/model-script.ts';
import { applyFilePlan } from '../../rewind/apply-file-plan.ts';
import { type CommandFilesOptions, commandFiles } from '../../rewind/command-files.ts';
import { readFileChanges } from '../../rewind/file-changes.ts';
import { planFileChanges } from '../../rewind/plan-file-changes.ts';
import { bashTool } from '../../shell/bash-tool.ts';
import { createWorkspace } from '../../workspace/workspace.ts';

interface RecordedOptions extends Omit<CommandFilesOptions, 'workspace'> {
  readonly root: string;
}

/** The session in which `runRecorded` runs the commands. */
export const recordedSession = 's';

/**
 * Runs commands in an agent, one per turn, and records the files that they change. Returns a function that
 * takes the changes back.
 */
export async function runRecorded(
  { root, ...options }: RecordedOptions,
  commands: readonly string[],
  log = memoryLog(),
) {
  const workspace = createWorkspace({ root });
  const files = commandFiles({ workspace, ...options });
  const calls = commands.map((command, index) => call(`c${index}`, 'bash', { command }));
  const script = [...calls.map((part) => ({ content: { parts: [part] } })), 'Done.'];
  const agent = createAgent({
    ...{ provider: scriptedProvider(script), log, tools: [bashTool({ workspace, files })] },
  });
  await agent.run('Go', { session: recordedSession }).result;
  const changes = await readFileChanges(log, recordedSession);
  const plan = (skipUnknown = false) => planFileChanges(workspace, { undo: changes, skipUnknown });
  return {
    ...{ log, changes, plan },
    undo: async (skipUnknown = false) =>
      applyFilePlan(workspace, log.blobs, await plan(skipUnknown)),
  };
}
