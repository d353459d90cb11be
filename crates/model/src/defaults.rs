//! Values the API server fills in where a pod leaves a field out.
