export * from '@millrace/agent/steps';
