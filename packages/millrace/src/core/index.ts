export * from '@millrace/core';
