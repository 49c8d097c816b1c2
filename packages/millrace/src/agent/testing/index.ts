export * from '@millrace/agent/testing';
