export * from '@millrace/log/query';
