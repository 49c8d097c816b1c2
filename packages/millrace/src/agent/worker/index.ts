export * from '@millrace/agent/worker';
