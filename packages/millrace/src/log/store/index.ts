export * from '@millrace/log/store';
