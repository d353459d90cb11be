//! The calls of CRI for images, over [`Images`]. What blocks runs where it blocks nobody; a pull is shared by all who
//! want the same image as the same user, and goes on as long as one of them waits.

mod answers;
mod credentials;
mod pulls;
mod refusal;

use std::sync::Arc;

use cri::v1::image_service_server::ImageService;
use cri::v1::{
    FilesystemIdentifier, FilesystemUsage, Image as ImageMessage, ImageFilter, ImageFsInfoRequest, ImageFsInfoResponse,
    ImageSpec, ImageStatusRequest, ImageStatusResponse, ListImagesRequest, ListImagesResponse, PullImageRequest,
    PullImageResponse, RemoveImageRequest, RemoveImageResponse, StreamImagesRequest, StreamImagesResponse, UInt64Value,
};
use futures_util::stream::{self, StreamExt as _};
use jiff::Timestamp;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use self::pulls::Pulls;
use crate::images::reference::Reference;
use crate::images::registry::Registries;
use crate::images::{Error, ErrorKind, Images, Usage};

/// Images in one piece of a streamed list.
const PIECE_IMAGES: usize = 100;

/// Serves the calls for images. Clones share what is under way.
#[derive(Clone)]
pub struct ImageCalls {
    images: Images,
    registries: Arc<Registries>,
    pulls: Arc<Pulls>,
}

impl ImageCalls {
    pub fn new(images: Images, registries: Registries) -> ImageCalls {
        ImageCalls { images, registries: Arc::new(registries), pulls: Arc::default() }
    }

    async fn listed(&self, filter: Option<ImageFilter>) -> Result<Vec<ImageMessage>, Status> {
        let wanted = filter.and_then(|filter| filter.image).map(|spec| spec.image).filter(|name| !name.is_empty());
        let found = self.blocking(move |images| match wanted {
            None => Ok(images.list()),
            Some(name) => known(images.find(&name)).map(|image| image.into_iter().collect()),
        });
        Ok(found.await?.iter().map(answers::image).collect())
    }

    /// Runs what may block where it blocks nobody.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Images) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Status> {
        let images = self.images.clone();
        match tokio::task::spawn_blocking(move || work(&images)).await {
            Ok(result) => result.map_err(|error| refusal::of(&error)),
            Err(error) => Err(Status::internal(format!("the work on an image was cut short: {error}"))),
        }
    }
}

#[tonic::async_trait]
impl ImageService for ImageCalls {
    async fn list_images(&self, request: Request<ListImagesRequest>) -> Result<Response<ListImagesResponse>, Status> {
        let images = self.listed(request.into_inner().filter).await?;
        Ok(Response::new(ListImagesResponse { images }))
    }

    async fn stream_images(
        &self,
        request: Request<StreamImagesRequest>,
    ) -> Result<Response<BoxStream<StreamImagesResponse>>, Status> {
        let images = self.listed(request.into_inner().filter).await?;
        let pieces: Vec<_> = images.chunks(PIECE_IMAGES).map(<[ImageMessage]>::to_vec).collect();
        Ok(Response::new(stream::iter(pieces).map(|images| Ok(StreamImagesResponse { images })).boxed()))
    }

    async fn image_status(
        &self,
        request: Request<ImageStatusRequest>,
    ) -> Result<Response<ImageStatusResponse>, Status> {
        let ImageStatusRequest { image, verbose } = request.into_inner();
        let name = named(image)?;
        let found = self.blocking(move |images| known(images.find(&name))).await?;
        let info = found.as_ref().filter(|_| verbose).map(answers::info).unwrap_or_default();
        Ok(Response::new(ImageStatusResponse { image: found.as_ref().map(answers::image), info }))
    }

    async fn pull_image(&self, request: Request<PullImageRequest>) -> Result<Response<PullImageResponse>, Status> {
        let PullImageRequest { image, auth, .. } = request.into_inner();
        let reference: Reference = named(image)?.parse().map_err(|error| refusal::of(&Error::Reference(error)))?;
        let credentials = credentials::of(auth.as_ref(), &reference)?;
        let pulled = self.pulls.join(&self.images, &self.registries, reference, credentials).await?;
        Ok(Response::new(PullImageResponse { image_ref: pulled.to_string() }))
    }

    async fn remove_image(
        &self,
        request: Request<RemoveImageRequest>,
    ) -> Result<Response<RemoveImageResponse>, Status> {
        let name = named(request.into_inner().image)?;
        self.blocking(move |images| {
            images.remove(&name)?;
            images.collect()
        })
        .await?;
        Ok(Response::new(RemoveImageResponse {}))
    }

    async fn image_fs_info(&self, _: Request<ImageFsInfoRequest>) -> Result<Response<ImageFsInfoResponse>, Status> {
        let (images, containers) = self.blocking(|images| Ok((images.usage()?, written(images)?))).await?;
        // Both lie on one file system: the same place, so that nobody takes them for two.
        let mountpoint = self.images.directory().display().to_string();
        let timestamp = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let told = |usage: Usage| FilesystemUsage {
            timestamp,
            fs_id: Some(FilesystemIdentifier { mountpoint: mountpoint.clone() }),
            used_bytes: Some(UInt64Value { value: usage.bytes }),
            inodes_used: Some(UInt64Value { value: usage.inodes }),
        };
        let (image_filesystems, container_filesystems) = (vec![told(images)], vec![told(containers)]);
        Ok(Response::new(ImageFsInfoResponse { image_filesystems, container_filesystems }))
    }
}

fn named(image: Option<ImageSpec>) -> Result<String, Status> {
    let name = image.map(|image| image.image).filter(|name| !name.is_empty());
    name.ok_or_else(|| Status::invalid_argument("the request names no image"))
}

/// That something is not here is an answer, not a failure.
fn known<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What all containers have written.
fn written(images: &Images) -> Result<Usage, Error> {
    let mut sum = Usage::default();
    for snapshot in images.snapshots()? {
        // A container that was removed meanwhile takes no room.
        let usage = match images.snapshot_usage(&snapshot.container) {
            Err(_) if images.find_snapshot(&snapshot.container)?.is_none() => Usage::default(),
            usage => usage?,
        };
        sum = Usage { bytes: sum.bytes + usage.bytes, inodes: sum.inodes + usage.inodes };
    }
    Ok(sum)
}
