export * from '@millrace/log';
