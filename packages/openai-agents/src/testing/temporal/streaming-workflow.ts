import { AgentSession } from '@millrace/temporal/workflow';
import { Runner } from '@openai/agents';
import { loggingAgentName } from '../../temporal/contract/agents-activities.ts';
import { TaskRun, workflowModels } from '../../temporal/workflow/task-run.ts';
import { miller } from '../mill.ts';

/** Streams a run and a model, which is not allowed in a workflow. Returns the error messages. */
export async function streamingWorkflow(): Promise<readonly string[]> {
  const modelProvider = workflowModels(
    new TaskRun(new AgentSession({ agent: loggingAgentName }), {}),
  );
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const ofRun = await errorOf(() => runner.run(miller, 'Bread?', { stream: true }));
  const model = await modelProvider.getModel('clever');
  const ofModel = await errorOf(async () => model.getStreamedResponse({} as never));
  return [ofRun, ofModel];
}

async function errorOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
}
