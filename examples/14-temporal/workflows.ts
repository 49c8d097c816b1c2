// Workflow code: Temporal bundles this file. An agent as a workflow is one line; others stand beside it.
export { agentWorkflow } from '@millrace/temporal/workflow';
