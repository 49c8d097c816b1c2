export * from '@millrace/log/postgres';
