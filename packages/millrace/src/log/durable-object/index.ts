export * from '@millrace/log/durable-object';
