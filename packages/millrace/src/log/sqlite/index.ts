export * from '@millrace/log/sqlite';
